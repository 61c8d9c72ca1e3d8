"""The command line: parses, calls one library function, writes. It loads no torch by itself."""
