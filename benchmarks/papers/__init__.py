"""Tables of the three papers, measured again beside the published figures."""
