"""Growth of trees and votes of grown trees, which trees, forests and boosters share."""
