/** The ports of the platform behind the capabilities of deployed verticals. */
import type { IdentityDirectoryUnit, Mailer } from '@freehold/auth';
import type { Vault } from '@freehold/kernel';
import type { BlobStore, Engine } from '@freehold/store';
import type { HostedLine } from './telemetry.ts';

/** An instance, as the directory knows it. */
export interface InstanceRef {
  readonly tenant: string;
  readonly scope: string;
}

/** The settings of a vertical's instances. */
export interface VerticalSettings {
  /** Strings that every instance is bound to. None that belongs to the operator alone. */
  readonly settings: Readonly<Record<string, string>>;
  /** The secret of `/internal/*`, derived for this vertical; the first is used, all are taken. */
  readonly platformSecret: readonly string[];
}

export interface EgressPolicy {
  readonly mode: 'observe' | 'declared-only';
  /** Declared host names; `*.example.com` covers every name below it. */
  readonly hosts: readonly string[];
}

export interface PlatformPorts {
  /** The vertical of a tenant's scope; null for one that is not there, or is another tenant's. */
  readonly verticalOf: (ref: InstanceRef) => Promise<string | null>;
  /** The name of a scope, which people see when they sign in; null for one that is not there. */
  readonly nameOf: (ref: InstanceRef) => Promise<string | null>;
  readonly settingsOf: (vertical: string) => Promise<VerticalSettings>;
  /** The builder's own secrets, by name. A setting of the platform wins over one of its name. */
  readonly secretsOf: (vertical: string) => Promise<Readonly<Record<string, string>>>;
  /** The settings of sign-in that every instance is bound to. Read for each request. */
  readonly signInBindings: () => Readonly<Record<string, string>>;
  readonly engine: Pick<Engine, 'unit'>;
  readonly identity: IdentityDirectoryUnit;
  readonly vault: Vault;
  /** Null: nothing can be attached. */
  readonly blobs: ((scope: string) => BlobStore) | null;
  /** Null: no mail is sent. */
  readonly mailer: Mailer | null;
  /** Reaches issuers, which tenants choose: it refuses private addresses. */
  readonly issuerFetch: (
    url: string,
    init: RequestInit,
    purpose?: { readonly issuer: string },
  ) => Promise<Response>;
  /** Whether an address is one of the operator's providers of language models: a bundle reaches no other this way. */
  readonly isModelProvider: (url: URL) => boolean;
  /** Reaches the operator's providers of language models, which may be private. A `held:NAME` in a header was replaced by then. */
  readonly modelFetch: (url: string, init: RequestInit) => Promise<Response>;
  /** An instance called a language model: its usage lines wait there. Default: nothing. */
  readonly onModelCall?: (ref: InstanceRef) => void;
  /** The operator's secret of a name, for a request to this address; null where it may not go there. */
  readonly modelSecret: (name: string, url: URL) => string | null;
  readonly egressPolicy: (vertical: string) => Promise<EgressPolicy>;
  /** Whether the databases hold texts that were sealed under keys that the vault does not have. Default: no. */
  readonly foreignSeals?: boolean;
  /** Takes the lines of a process. It does not throw. */
  readonly onLines: (vertical: string, lines: readonly HostedLine[]) => void;
}

/** The room for calls that wait for a person: they give way to all others. */
export interface WaitingCalls {
  readonly mayBegin: () => boolean;
  readonly mayGoOn: () => boolean;
}
