/**
 * The capabilities of one deployed instance, which its object gets from the runtime. All of them are bound to one tenant and
 * one scope by the runtime; nothing that a bundle passes chooses another. They travel in the object's props, never in `env`,
 * which all instances of a bundle share.
 */
import type { Outcome, UnitOptions } from '@freehold/store';
import type { Node } from '../declaration/env.ts';
import type { HostedCaller } from '../declaration/hosted-caller.ts';

export type { HostedCaller } from '../declaration/hosted-caller.ts';

/** The header in which the platform says what a request is about. It removes those that a sender wrote. */
export const CALL_HEADER = 'x-freehold-call';

/** The words of the platform about a request, as JSON in base64url in {@link CALL_HEADER}. */
export interface HostedCall {
  readonly tenant: string;
  readonly scope: string;
  /** The bundle for an instance that has none yet: the version that serves. Null where none does. */
  readonly serving: string | null;
  /** Null for a request of the platform itself: only `/internal/*` is answered then. */
  readonly node: Node | null;
  /** The network address of the sender; null when it is unknown. */
  readonly clientAddress: string | null;
  /** Null for a request of the platform itself, and for an application that lets no person in. */
  readonly caller: HostedCaller | null;
}

/** The settings that were delivered to an instance, without those of sign-in that are secret. */
export interface HostedConfiguration {
  readonly version: string;
  readonly config: Readonly<Record<string, string>>;
}

/** Returns the value of {@link CALL_HEADER}. */
export function encodeCall(call: HostedCall): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(call))));
}

/** @throws SyntaxError for a value that {@link encodeCall} did not make. */
export function decodeCall(value: string): HostedCall {
  const bytes = Uint8Array.from(atob(value), (char) => char.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes)) as HostedCall;
}

/** One blob of a listing. */
export interface HostedBlobEntry {
  readonly digest: string;
  readonly bytes: number;
  readonly atMs: number;
}

/** The platform, for one instance. Members answer as the ports of `AppServices` that they stand for. */
export interface PlatformCapability {
  /** A call of the tenant's identity directory. */
  identity(method: string, input: unknown, options: UnitOptions): Promise<Outcome>;
  /** A call of the port {@link Vault}: its arguments after the scope. */
  vault(method: string, input: readonly unknown[]): Promise<Outcome>;
  /** `PUT /<digest>`, `GET /<digest>` with a range, `DELETE /<digest>`, `GET /` and `DELETE /` of the blob store. */
  blobs(request: Request): Promise<Response>;
  /** The delivered settings: {@link HostedConfiguration}. */
  configuration(): Promise<Outcome>;
  /** Tells the holder of the owner seat that the operator replaces them, after `mintOwnerReplacement`: `mail` or `log`. */
  tellHolder(): Promise<Outcome>;
  /** A request to a provider of language models. A header `held:NAME` stands for the operator's secret of that name. */
  model(request: Request): Promise<Response>;
  /** So many operations were performed, for the meter of the tenant. */
  invoked(operations: number): Promise<void>;
  /** Work was enqueued: the runtime calls `work` soon, and after a crash too. */
  wake(): Promise<void>;
}

/** The props of an instance's object. */
export interface InstanceProps {
  readonly tenant: string;
  readonly scope: string;
  readonly platform: PlatformCapability;
  /** The settings that every instance is bound to, and the builder's secrets. */
  readonly settings: Readonly<Record<string, string>>;
  /** The secret of `/internal/*`, derived for this vertical; a list while one is replaced. */
  readonly platformSecret: readonly string[];
  /**
   * Whether the platform has a place for attachments, and whether the database holds texts that were sealed under keys that
   * are not given to this instance: a preview's.
   */
  readonly has: { readonly blobs: boolean; readonly foreignSeals?: boolean };
}
