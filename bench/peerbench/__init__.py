"""Runs the programs of bench/programs over several implementations of MPI in turn, and reports medians,
spread and ratios.

    arguments ─▶ main ─▶ install      the peers, each in a virtual environment of its own
                   │       compile      the programs: once for the standard ABI, once for Open MPI
                   │       run          rounds: in each, every participant measures every program
                   └────▶ report       a table, JSON, and pictures (plot, in an environment with matplotlib)
"""
