"""The programs under test.

Servers run with this folder as work directory and on PYTHONPATH, in environments that may not have
Lapsheet installed. So these modules import each other by plain name at run time; only a type checker, and
the runner where it needs `counter`, sees them as ``runner.apps.*``.
"""
