"""An engine for the logic around engines: it hears nothing, and answers as it is told."""

from asrbatch.data import Hypothesis


class FakeEngine:
    """Answers last in, first out, one at a step."""

    concurrency = 2
    capacity = 4
    max_segment_samples = None
    languages = None
    shares_cores = False

    def __init__(self):
        self.queue = []

    @property
    def outstanding(self):
        return len(self.queue)

    def submit(self, segment, audio):
        self.queue.append(segment)

    def step(self):
        if not self.queue:
            return []
        segment = self.queue.pop()
        answer = {"language": "en", "finish_reason": "stop", "tokens": (1,), "latency_s": 0.0}
        answer |= self.answer(segment)
        return [Hypothesis(segment.recording_id, segment.index, **answer)]

    def answer(self, segment):
        """What it says to a segment: `text`, and whatever is not as usual."""
        raise NotImplementedError

    def close(self):
        self.queue.clear()
