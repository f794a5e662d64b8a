"""A service for analysts who may not see the data: tables, requests, a job queue and web pages."""
