"""Quality of given labels: audits that find wrong ones, and the noise of a whole table."""
