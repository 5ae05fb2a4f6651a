# Fieldwork on workerd: one worker, its durable objects, and what it may reach. docs/workerd.md says how to start it.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "fieldwork", worker = .fieldwork),
    # Where the durable objects are kept: given at the start, with --directory-path=objects=<directory>.
    (name = "objects", disk = (writable = true)),
    # A tenant chooses its issuer, so that what the worker fetches is hostile until proven public.
    (name = "internet", network = (allow = ["public"], tlsOptions = (trustBrowserCas = true))),
    # The operator's own issuer, bucket and language model may be anywhere.
    (name = "own-network", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  # For the router and the platform alone: nobody else needs to get here.
  sockets = [(name = "http", address = "127.0.0.1:8788", http = (), service = "fieldwork")],
);

const fieldwork :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-07-01",
  compatibilityFlags = ["nodejs_compat"],
  bindings = [
    (name = "SCOPES", durableObjectNamespace = "ScopeObject"),
    (name = "IDENTITIES", durableObjectNamespace = "IdentityObject"),
    (name = "VAULTS", durableObjectNamespace = "VaultObject"),
    (name = "OWN_NETWORK", service = "own-network"),
    # Secrets stay out of this file: each is taken from the environment variable of its name.
    (name = "PLATFORM_SECRET", fromEnvironment = "PLATFORM_SECRET"),
    (name = "SEAL_KEY", fromEnvironment = "SEAL_KEY"),
    (name = "NODE_KEYS", fromEnvironment = "NODE_KEYS"),
    (name = "OWN_ISSUER", fromEnvironment = "OWN_ISSUER"),
    (name = "S3_ENDPOINT", fromEnvironment = "S3_ENDPOINT"),
    (name = "S3_BUCKET", fromEnvironment = "S3_BUCKET"),
    (name = "S3_REGION", fromEnvironment = "S3_REGION"),
    (name = "S3_ACCESS_KEY_ID", fromEnvironment = "S3_ACCESS_KEY_ID"),
    (name = "S3_SECRET_ACCESS_KEY", fromEnvironment = "S3_SECRET_ACCESS_KEY"),
    # The settings of the manifest, for instances to which nothing was delivered.
    (name = "AUTH_PROVIDER", fromEnvironment = "AUTH_PROVIDER"),
    (name = "OIDC_ISSUER", fromEnvironment = "OIDC_ISSUER"),
    (name = "OIDC_CLIENT_ID", fromEnvironment = "OIDC_CLIENT_ID"),
    (name = "OIDC_CLIENT_SECRET", fromEnvironment = "OIDC_CLIENT_SECRET"),
    (name = "OIDC_AUDIENCE", fromEnvironment = "OIDC_AUDIENCE"),
    (name = "BASE_URL", fromEnvironment = "BASE_URL"),
    (name = "FREEHOLD_MODEL", fromEnvironment = "FREEHOLD_MODEL"),
    (name = "FREEHOLD_MODEL_ACCESS", fromEnvironment = "FREEHOLD_MODEL_ACCESS"),
    (name = "FREEHOLD_MODEL_TOKENS_MONTHLY", fromEnvironment = "FREEHOLD_MODEL_TOKENS_MONTHLY"),
    # What it takes to reach a language model: never delivered to an instance.
    (name = "FREEHOLD_MODEL_RATE_CARD", fromEnvironment = "FREEHOLD_MODEL_RATE_CARD"),
    (name = "FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL", fromEnvironment = "FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL"),
    (name = "FREEHOLD_MODEL_OPENAI_COMPATIBLE_API_KEY", fromEnvironment = "FREEHOLD_MODEL_OPENAI_COMPATIBLE_API_KEY"),
    (name = "FREEHOLD_MODEL_OPENAI_API_KEY", fromEnvironment = "FREEHOLD_MODEL_OPENAI_API_KEY"),
    (name = "FREEHOLD_MODEL_OPENAI_BASE_URL", fromEnvironment = "FREEHOLD_MODEL_OPENAI_BASE_URL"),
    (name = "FREEHOLD_MODEL_ANTHROPIC_API_KEY", fromEnvironment = "FREEHOLD_MODEL_ANTHROPIC_API_KEY"),
    (name = "FREEHOLD_MODEL_ANTHROPIC_BASE_URL", fromEnvironment = "FREEHOLD_MODEL_ANTHROPIC_BASE_URL"),
    (name = "FREEHOLD_MODEL_GOOGLE_API_KEY", fromEnvironment = "FREEHOLD_MODEL_GOOGLE_API_KEY"),
    (name = "FREEHOLD_MODEL_GOOGLE_BASE_URL", fromEnvironment = "FREEHOLD_MODEL_GOOGLE_BASE_URL"),
  ],
  # The unique keys are the names of directories: another one is another, empty, set of objects.
  durableObjectNamespaces = [
    (className = "ScopeObject", uniqueKey = "fieldwork-scope", enableSql = true),
    (className = "IdentityObject", uniqueKey = "fieldwork-identity", enableSql = true),
    (className = "VaultObject", uniqueKey = "fieldwork-vault", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "objects"),
);
