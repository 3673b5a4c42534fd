"""The stand: engines that prune are asked questions, beside themselves with nothing to prune by."""
