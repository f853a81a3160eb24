"""The paper's model: recurrent XLNet, with detector and clusterer as in the paper's text or the authors' program."""
