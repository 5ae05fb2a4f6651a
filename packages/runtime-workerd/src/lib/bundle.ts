/** A bundle as the platform stores it, and as a process fetches it. */
export interface StoredBundle {
  readonly mainModule: string;
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  /** By name; data as base64. */
  readonly modules: Readonly<Record<string, { readonly js: string } | { readonly data: string }>>;
}

/** The instances that share an isolate, and with it the variables of their modules: those of a tenant, or all. */
export type Isolate = 'tenant' | 'vertical';

/** The date of the runtime's behaviour that every bundle runs with. */
export const COMPATIBILITY_DATE = '2026-07-01';
export const COMPATIBILITY_FLAGS: readonly string[] = ['nodejs_compat'];
/** The module that exports `Instance` and `Declaration`. */
export const MAIN_MODULE = 'main.js';
