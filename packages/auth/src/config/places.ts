/** Where the secrets of the configuration are kept, which is what their seals are bound to. */
import type { SecretPlace } from '../lib/secret-keeper.ts';
import { SESSION_SECRET } from './store.ts';

export function configPlace(scopeId: string, key: string): SecretPlace {
  return ['config', 'value', scopeId, key];
}

export function sessionSecretPlace(): SecretPlace {
  return ['secrets', 'value', SESSION_SECRET];
}

/** The time is in it, so that nobody who can write the database makes a former secret verify for longer. */
export function formerSecretPlace(validUntilMs: number): SecretPlace {
  return ['former_session_secrets', 'value', String(validUntilMs)];
}
