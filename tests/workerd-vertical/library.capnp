# The library of the kernel's contract suite in workerd, for tests.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "library", worker = .library),
    (name = "objects", disk = (writable = true)),
    # The bucket of its attachments is on loopback.
    (name = "internet", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", http = (), service = "library")],
);

const library :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-07-01",
  compatibilityFlags = ["nodejs_compat"],
  bindings = [
    (name = "LIBRARY", durableObjectNamespace = "LibraryObject"),
    (name = "VAULT", durableObjectNamespace = "VaultObject"),
    (name = "PLATFORM_SECRET", fromEnvironment = "PLATFORM_SECRET"),
    (name = "BUCKET_URL", fromEnvironment = "BUCKET_URL"),
  ],
  durableObjectNamespaces = [
    (className = "LibraryObject", uniqueKey = "library", enableSql = true),
    (className = "VaultObject", uniqueKey = "vault", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "objects"),
);
