/**
 * The test-only channel into the library's worker, beside its management contract: a member of `ScopeHost` and its
 * arguments as JSON, with bytes as base64. Both ends are in this file, which depends on no runtime.
 */
import type { Failure } from '@freehold/contracts';

export const CHANNEL_PATH = '/channel';
export const CLOCK_PATH = '/clock';
/** Unexpected errors since the last answer, on every answer, each as {@link ReportedIncident}. */
export const INCIDENTS_HEADER = 'x-incidents';

export interface ChannelCall {
  /** `scope` takes a scope id, a method and its input; `operations` a scope id, a principal and an invocation. */
  readonly member: string;
  readonly args: readonly unknown[];
}

export type ChannelAnswer =
  | { readonly ok: true; readonly value?: unknown }
  | { readonly ok: false; readonly failure: Failure };

/** The offset of the scopes' clock from the system's. */
export interface ClockSetting {
  readonly aheadMs: number;
}

export interface ReportedIncident {
  readonly error: string;
  readonly method: string;
}

interface PackedBytes {
  readonly $bytes: string;
}

/** Replaces streams in a value: the value itself, or one of its members. */
export async function pack(value: unknown): Promise<unknown> {
  if (value instanceof ReadableStream) return { $bytes: await base64Of(value) } satisfies PackedBytes;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(async ([key, each]) => [
    key,
    each instanceof ReadableStream ? await pack(each) : each,
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

/** Restores the streams. */
export function unpack(value: unknown): unknown {
  if (isPacked(value)) return streamOf(value.$bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, isPacked(each) ? streamOf(each.$bytes) : each]),
  );
}

function isPacked(value: unknown): value is PackedBytes {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, '$bytes');
}

async function base64Of(stream: ReadableStream<Uint8Array>): Promise<string> {
  return Buffer.from(await new Response(stream).arrayBuffer()).toString('base64');
}

function streamOf(base64: string): ReadableStream<Uint8Array> {
  return new Blob([Buffer.from(base64, 'base64')]).stream();
}
