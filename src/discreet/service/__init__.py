"""A service for analysts who may not see the data: tables, requests, a queue of jobs, and pages."""
