"""A worker whose codecs crash: the process dies by a real signal over a file named poison."""

import os
import signal

import asrbatch.pipeline.worker as worker

real_decode, real_probe = worker.decode, worker.probe


def decode(source, info, raw=None):
    if "poison-decode" in source.name:
        os.kill(os.getpid(), signal.SIGSEGV)
    return real_decode(source, info, raw)


def probe(path, raw=None):
    if "poison-probe" in path.name:
        os.kill(os.getpid(), signal.SIGSEGV)
    return real_probe(path, raw)


worker.decode, worker.probe = decode, probe
worker.main()
