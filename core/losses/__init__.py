"""Public losses of trees and boosters, with the kernel criterion of each."""
