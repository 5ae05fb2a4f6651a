/** A provider of API keys in memory. `key-of-ada-1` and `key-of-ada-1-new` are keys of one account, `ada-1`. */
import { makeKeyring } from '@freehold/store';
import type { ConnectionsOptions } from '../src/index.ts';

export const SEAL_KEY = 'a sealing key of the tests, 32 bytes and more';

export interface KeyProvider {
  readonly options: ConnectionsOptions;
  /** The requests to the provider, oldest first: the `authorization` header. */
  readonly asked: string[];
  /** When set, answers instead of the provider. */
  fault: (() => Promise<Response>) | null;
  /** Keys that the provider takes no more. */
  readonly withdrawn: Set<string>;
}

/** @param secrets the platform's sealing keys, newest first. */
export function makeKeyProvider(secrets: readonly string[] = [SEAL_KEY]): KeyProvider {
  const provider: KeyProvider = {
    asked: [],
    fault: null,
    withdrawn: new Set(),
    options: {
      providers: {
        ledger: {
          kind: 'api-key',
          name: 'Ledger',
          probe: {
            endpoint: 'https://ledger.example/me',
            account: 'account.id',
            accountName: 'account.title',
          },
        },
      },
      keyring: makeKeyring(secrets),
      baseUrl: () => 'https://api.example.com',
      fetch: async (_url, init) => {
        const authorization = new Headers(init.headers).get('authorization') ?? '';
        provider.asked.push(authorization);
        if (provider.fault) return provider.fault();
        const key = authorization.slice('Bearer '.length);
        const account = /^key-of-([a-z]+-\d+)(?:-new)?$/.exec(key)?.[1];
        if (account === undefined || provider.withdrawn.has(key))
          return Response.json({ error: 'no' }, { status: 401 });
        return Response.json({ account: { id: account, title: `The books of ${account}` } });
      },
    },
  };
  return provider;
}
