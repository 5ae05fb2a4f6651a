/** The environment of a request, and the ports of an application. */

import type {
  AuthRuntime,
  IdentityDirectory,
  Mailer,
  VerifiedSubject,
  VerifyingAuthProvider,
} from '@freehold/auth';
import type { PrincipalId, ProgramGrant, ScopeId, TenantId, VerticalManifest } from '@freehold/contracts';
import type { ScopeHost, Vault } from '@freehold/kernel';
import type { BlobStore, Engine, EngineTools, IncidentSink, Keyring } from '@freehold/store';
import type { PlatformSecret, ProblemOptions } from '@freehold/vertical-host';
import type { ModelHostOptions } from '@freehold/vertical-host/model';
import type { Context } from 'hono';
import type { App } from './app.ts';
import type { HostedCaller } from './hosted-caller.ts';

/**
 * The instance of a request, from the router. It comes in beside the request, from code, and never from a header: a
 * sender who could write it could choose a tenant.
 */
export interface Node {
  readonly tenant: string;
  readonly scope: string;
  readonly vertical: string;
  readonly version: string;
  readonly surface: string;
  /** The origin that browsers see: `https://pipes.example`. */
  readonly origin: string;
  /** The Domain of the session cookie, which all host names of the instance share. Absent: a cookie of one host. */
  readonly cookieDomain?: string | undefined;
}

/** The second argument of `app.fetch`. Beside `node` it holds the worker's bindings, of which only strings are read. */
export interface Bindings {
  /** Null for a request that reached no instance: only `/internal/*` is answered then. */
  readonly node: Node | null;
  /** The network address of the sender, from the platform; null or absent when it is not known. */
  readonly clientAddress?: string | null;
  /** The platform's word about the caller, for an application that does not judge it itself (`AppServices.signIn`). */
  readonly caller?: HostedCaller | null;
  readonly [binding: string]: unknown;
}

/** The environment of an application's Hono app. */
export interface AppEnv {
  Bindings: Bindings;
  Variables: { readonly caller: Promise<Caller>; readonly signIn: SignIn };
}

/** A request as the handlers of an application get it. */
export type AppContext = Context<AppEnv>;

/** One file of the built pages. */
export interface WebFile {
  readonly body: Uint8Array<ArrayBuffer>;
  /** The same, compressed with gzip; absent where that saves nothing. */
  readonly gzip?: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  /** Strong, with its quotes. */
  readonly etag: string;
  /** True when the name changes with the content. */
  readonly immutable: boolean;
}

/** Path (`/assets/app-1a2b.js`) → file. `/index.html` is the page itself. */
export type WebFiles = ReadonlyMap<string, WebFile>;

/** The ports of an application: what its caller (the platform, a worker, the test harness) gives it. */
export interface AppServices {
  /** With tools, an instance can be copied, restored and rewound; without, these routes are 501. */
  readonly engine: Engine & Partial<EngineTools>;
  /** The keys of persons, whose data is sealed. Without it, no event about a person can be emitted. */
  readonly vault?: Vault;
  /** Seals the secrets that identity directories keep. Without it they are in clear, which is for development. */
  readonly sealing?: Keyring;
  /** Where photos and documents lie. Without it, nothing can be attached (501). */
  readonly blobs?: (scopeId: string) => BlobStore;
  /** Receives a scope in which work was enqueued: wake a `DeliveryRunner` with it. Default: none is called. */
  readonly onWork?: (scopeId: string) => void;
  /** The secret of `/internal/*`, or a list while one is replaced. Undefined closes it. */
  readonly platformSecret: PlatformSecret;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  /** Fetches from issuers. Pass one that refuses private addresses where tenants choose their issuer. */
  readonly fetch: NonNullable<AuthRuntime['fetch']>;
  /** Receives unexpected errors. */
  readonly onIncident: IncidentSink;
  /** The built pages. Without them the application answers its API alone. */
  readonly webFiles?: WebFiles;
  /** Writes to people. Without one, an instance cannot keep accounts of its own (AUTH_PROVIDER `directory`). */
  readonly mailer?: Mailer;
  /** Tells the holder of an owner seat that the operator replaces them. Default: by a mail of the `mailer`. */
  readonly tellHolder?: (notice: HolderNotice) => Promise<'mail' | 'log'>;
  /** The sign-in of a deployed application, whose callers the platform judges. Default: the delivered one. */
  readonly signIn?: SignIns;
  /** Reaches providers of language models, which the operator chose. Default: the global one. */
  readonly modelFetch?: ModelHostOptions['fetch'];
  /** The issuer for instances to which the platform delivered no choice. Default: no sign-in until it does. */
  readonly defaultIdentity?: { readonly issuer: string; readonly clientId: string };
  /** Aborted when this process stops: calls that wait for a person end then. Default: they wait on. */
  readonly stopping?: AbortSignal;
  /** Other settings of the relying party; its clock, network and randomness are those above. */
  readonly auth?: Omit<AuthRuntime, 'fetch' | 'now' | 'random'>;
}

/** That an owner is being replaced. */
export interface HolderNotice {
  /** The holder's address; null for one without. */
  readonly to: string | null;
  readonly business: string;
  readonly why: string;
}

/** The instance of a request, with its ids as what they are. */
export interface Instance extends Node {
  readonly tenant: TenantId;
  readonly scope: ScopeId;
}

export interface Tenants {
  /** Whose scope it is, as the scope itself says. Rejects with `not_found` for one that is not there. */
  of(scopeId: string): Promise<TenantId>;
  /** Forgets a scope that is deleted. */
  forget(scope: { readonly scopeId: string }): void;
}

/** The parts that the routes share. */
export interface Services {
  readonly deps: AppServices;
  /** The manifest with what is supplied. */
  readonly manifest: VerticalManifest;
  /** The options by which failures are answered and recorded. */
  readonly problems: ProblemOptions;
  readonly app: App;
  readonly host: ScopeHost;
  /** A tenant's identity directory. `create` is for provisioning alone. */
  readonly directory: (tenant: TenantId, options?: { readonly create: boolean }) => IdentityDirectory;
  readonly signIn: SignIns;
  readonly tenants: Tenants;
  /** Counts what programs read. */
  readonly reads: ReadCounter;
}

export interface ReadPlace {
  readonly tenant: TenantId;
  readonly scope: ScopeId;
}

/** Counts what programs read of an instance. */
export interface ReadCounter {
  /** Counts one read. */
  note(place: ReadPlace, read: { readonly grant: string; readonly operation: string }): Promise<void>;
  /** Writes what is held of an instance. */
  write(place: ReadPlace): Promise<void>;
}

export interface SignIns {
  /** The sign-in of a request's instance. @throws HTTPException when it is not set up. */
  (c: AppContext): Promise<SignIn>;
  /** The same, with who is asking: one question to the tenant's directory where nothing changed. */
  recognise(c: AppContext): Promise<Recognition>;
  /** Drops the cached sign-in of a scope that is deleted. */
  forget(scope: { readonly scopeId: string }): void;
}

export interface Recognition extends Caller {
  readonly signIn: SignIn;
}

/** The sign-in of one instance. */
export interface SignIn {
  /** At an issuer; with accounts of the tenant's own directory; or not here at all, by presenting a token. */
  readonly mode: 'hosted' | 'directory' | 'tokens';
  /** Where one's own password, passkeys and second factor are changed, if that is here. */
  readonly securityUrl?: string;
  readonly provider: VerifyingAuthProvider;
  /** The settings of the manifest that have a value here: delivered, then bound, then the default. */
  readonly settings: Readonly<Record<string, string>>;
  /**
   * The tenant's session secrets, the first of which seals: for the authorization server of the instance. Absent where
   * access tokens are made elsewhere, and in an application whose callers another process judges.
   */
  readonly sessionSecrets?: readonly string[];
  /** Serves `/api/auth/*`. */
  handle(request: Request, client: { readonly clientAddress: string | null }): Promise<Response>;
}

/** The caller of a request. */
export interface Caller {
  /** Null for an anonymous caller. */
  readonly subject: VerifiedSubject | null;
  /** Null for a stranger. */
  readonly principal: PrincipalId | null;
  /** The program through which the person acts; null for the person themself. */
  readonly grant: ProgramGrant | null;
}
