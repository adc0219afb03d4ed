"""Updates of the Dirichlet priors: tag weights, latent topics and topic words."""
