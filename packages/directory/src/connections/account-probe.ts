/** Asks a provider whose credential this is, and so whether it works at all (spec 4.3.14). */
import {
  askProvider,
  type ProviderAccess,
  type ProviderAnswer,
  ProviderFailure,
} from './provider-exchange.ts';
import type { AccountProbe, ApiKeyProvider } from './providers.ts';

/** Whose account it is; null where the provider does not tell. */
export interface Account {
  readonly account: string | null;
  readonly accountName: string | null;
}

/** Asks with an access token. @throws ProviderFailure `refused` when the provider does not take it. */
export async function probeToken(
  access: ProviderAccess,
  probe: AccountProbe,
  accessToken: string,
): Promise<Account> {
  const headers = { accept: 'application/json', authorization: `Bearer ${accessToken}` };
  return processProbe(probe, await askProvider(access, probe.endpoint, { method: 'GET', headers }));
}

/** Asks with an API key. @throws ProviderFailure `refused` when the provider does not take it. */
export async function probeKey(
  access: ProviderAccess,
  { probe }: ApiKeyProvider,
  apiKey: string,
): Promise<Account> {
  const { header = 'authorization', tellsAccount = true } = probe;
  const { prefix = header.toLowerCase() === 'authorization' ? 'Bearer ' : '' } = probe;
  const headers = { accept: 'application/json', [header]: `${prefix}${apiKey}` };
  const answer = await askProvider(access, probe.endpoint, { method: 'GET', headers });
  if (tellsAccount) return processProbe(probe, answer);
  requireTaken(answer);
  return { account: null, accountName: null };
}

/** Judges an answer. @throws ProviderFailure */
export function processProbe(probe: AccountProbe, answer: ProviderAnswer): Account {
  requireTaken(answer);
  const account = textAt(answer.json, probe.account ?? 'sub');
  if (account === null)
    throw new ProviderFailure('unusable', 'The provider did not say whose account it is.');
  return {
    account,
    accountName: probe.accountName === undefined ? null : textAt(answer.json, probe.accountName),
  };
}

function requireTaken({ status }: ProviderAnswer): void {
  if (status === 400 || status === 401 || status === 403)
    throw new ProviderFailure('refused', `The provider answered with status ${status}.`);
  if (status < 200 || status > 299)
    throw new ProviderFailure('unusable', `The provider answered with status ${status}.`);
}

/** Ids are text or whole numbers, and short; anything else is not one. */
function textAt(json: unknown, path: string): string | null {
  let value = json;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  if (Number.isSafeInteger(value)) return String(value);
  const isText = typeof value === 'string' && value !== '' && value.length <= 256;
  return isText && !/\p{Cc}/u.test(value as string) ? (value as string) : null;
}
