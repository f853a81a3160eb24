"""The paper's model: XLNet with recurrence; detector and clusterer as the text or the authors' program has them."""
