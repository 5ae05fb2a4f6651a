/** A platform with a scope that has an address, a provider, and a browser with its cookies: what a consent round needs. */
import type { ConnectStep, ConsentOrder } from '../src/index.ts';
import { type ConsentProviderOptions, makeConsentProvider } from './consent-provider.ts';
import { openPlatform } from './platform.ts';

export const PRINCIPAL = 'prn_01jd0000000000000000000001';
export const HOSTNAME = 'acme.example.com';
export const RETURN_URL = `https://${HOSTNAME}/settings`;

export async function openRounds(options: ConsentProviderOptions = {}) {
  const provider = makeConsentProvider(options);
  const platform = await openPlatform({
    connections: provider.options,
    baseDomains: ['example.com'],
  });
  const tenant = await platform.tenant('acme');
  const scope = await platform.scope(tenant.id);
  await platform.hostname(scope, HOSTNAME);

  const order = (more: Partial<ConsentOrder> = {}): ConsentOrder => ({
    vertical: 'fieldwork',
    tenantId: tenant.id,
    scopeId: scope.id,
    provider: 'calendar',
    createdBy: PRINCIPAL as never,
    subjectRef: 'team calendar',
    returnUrl: RETURN_URL,
    ttlSeconds: 900,
    ...more,
  });
  const rounds = () => platform.admin.connections;

  const ticketOf = async (more: Partial<ConsentOrder> = {}): Promise<string> =>
    new URL((await rounds().requestUrl(order(more))).url).pathname.split('/').at(-1) ?? '';

  /** The provider's answer, as a browser with these cookies brings it. */
  const finish = (back: URL, cookies: ReadonlyMap<string, string>): Promise<ConnectStep> =>
    rounds().finish({
      provider: back.pathname.split('/').at(-1) ?? '',
      parameters: back.searchParams,
      cookie: (name) => cookies.get(name),
      requestId: 'req-callback',
    });

  /** Begins a round in a new browser. */
  const begin = async (more: Partial<ConsentOrder> = {}) => {
    const { location, cookie } = await rounds().start(await ticketOf(more));
    const cookies = new Map(cookie ? [[cookie.name, cookie.value]] : []);
    return { location, cookies, finish: (back: URL) => finish(back, cookies) };
  };

  /** A whole round with consent. Returns the answer to the application. */
  const connect = async (more: Partial<ConsentOrder> = {}, account = 'ada') => {
    const round = await begin(more);
    const { location } = await round.finish(provider.consent(round.location, account));
    return Object.fromEntries(new URL(location).searchParams);
  };

  const connection = async (more: Partial<ConsentOrder> = {}, account = 'ada'): Promise<string> => {
    const { connection: id } = await connect(more, account);
    if (id === undefined) throw new Error('nothing was connected');
    return id;
  };

  return { platform, provider, tenant, scope, order, rounds, ticketOf, begin, finish, connect, connection };
}

export type Rounds = Awaited<ReturnType<typeof openRounds>>;
