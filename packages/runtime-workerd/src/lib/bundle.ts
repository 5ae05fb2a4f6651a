/** A bundle as the platform stores it, and as a process fetches it. */
export interface StoredBundle {
  readonly mainModule: string;
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  readonly modules: readonly StoredModule[];
}

export interface StoredModule {
  readonly name: string;
  /** Whether it is JavaScript in UTF-8; otherwise it is data. */
  readonly isCode: boolean;
  readonly bytes: Uint8Array;
}

interface SentHead extends Omit<StoredBundle, 'modules'> {
  readonly modules: readonly (Omit<StoredModule, 'bytes'> & { readonly length: number })[];
}

const LENGTH_BYTES = 4;

/**
 * A bundle on its way to a process: the length of its head, the head in JSON, and the bytes of its modules as they are. In
 * JSON, megabytes of code would be escaped, and copied several times on both sides.
 */
export function encodeBundle({ modules, ...named }: StoredBundle): readonly Uint8Array[] {
  const sent: SentHead = {
    ...named,
    modules: modules.map(({ bytes, ...module }) => ({ ...module, length: bytes.length })),
  };
  const head = new TextEncoder().encode(JSON.stringify(sent));
  const length = new Uint8Array(LENGTH_BYTES);
  new DataView(length.buffer).setUint32(0, head.length);
  return [length, head, ...modules.map(({ bytes }) => bytes)];
}

/** The bytes of its modules are those of `sent`. @throws RangeError for less than a whole bundle. */
export function decodeBundle(sent: ArrayBuffer): StoredBundle {
  let at = 0;
  const take = (length: number): Uint8Array => {
    if (at + length > sent.byteLength) throw new RangeError('the bundle broke off');
    at += length;
    return new Uint8Array(sent, at - length, length);
  };
  take(LENGTH_BYTES);
  const head = take(new DataView(sent).getUint32(0));
  const { modules, ...named } = JSON.parse(new TextDecoder().decode(head)) as SentHead;
  return { ...named, modules: modules.map(({ length, ...module }) => ({ ...module, bytes: take(length) })) };
}

/** The instances that share an isolate, and with it the variables of their modules: those of a tenant, or all. */
export type Isolate = 'tenant' | 'vertical';

/** The date of the runtime's behaviour that every bundle runs with. */
export const COMPATIBILITY_DATE = '2026-07-01';
export const COMPATIBILITY_FLAGS: readonly string[] = ['nodejs_compat'];
/** The module that exports `Instance` and `Declaration`. */
export const MAIN_MODULE = 'main.js';
