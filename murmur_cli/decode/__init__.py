"""Running an autoregressive decoder, and knowing when it has gone wrong."""
