"""The systems that the paper compares with, on any encoder of ours: c2f, s2e, ICoref, longdoc, CorefQA."""
