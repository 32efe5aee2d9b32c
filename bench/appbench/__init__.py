"""Builds programs that people use MPI for, runs them over several implementations in turn, and reports
medians and ratios. Installs and starts the implementations, and takes turns, like peerbench.

    arguments ─▶ main ─▶ programs     what there is: the table in programs.toml, and those of --describe
                   │       sources      released archives, checked: from --sources, or by apt-get
                   │       build        each program once for the standard ABI, and once for Open MPI
                   │       runs         one run: its folder, its command line, its verification, its figures
                   └────▶ report       one table
"""
