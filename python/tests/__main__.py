"""Runs the tests as the ranks of one job: every rank runs all of them, in the same order. `canele run -n 2 python python/tests`."""

import faulthandler
import io
import os
import pathlib
import sys
import unittest

import support

# A test that hangs prints its place, and ends the job.
faulthandler.dump_traceback_later(240, exit=True)
suite = unittest.defaultTestLoader.discover(str(pathlib.Path(__file__).parent), pattern="test_*.py")
# The other ranks print only failures.
stream = sys.stderr if support.job.rank == 0 else io.StringIO()
result = unittest.TextTestRunner(stream=stream, failfast=True).run(suite)
if not result.wasSuccessful():
    if isinstance(stream, io.StringIO):
        print(f"rank {support.job.rank}:\n{stream.getvalue()}", file=sys.stderr)
    # The other ranks may wait for this one, so the launcher ends them.
    sys.stderr.flush()
    os._exit(1)
support.job.finish()
if support.job.rank == 0:
    print(f"{result.testsRun} tests on {support.job.size} ranks, {len(result.skipped)} left out", flush=True)
