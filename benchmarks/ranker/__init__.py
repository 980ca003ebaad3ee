"""The learned ranker of code: mining of its training data, features, training and measurement."""
