/** oidc-provider, configured as the development issuer: code and device flow, made-up people, no consent page. */
import type {
  AdapterFactory,
  Configuration,
  KoaContextWithOIDC,
  Provider as ProviderType,
} from 'oidc-provider';
import { base as basePolicy, Prompt } from 'oidc-provider/lib/helpers/interaction_policy/index.js';
import { Provider } from 'oidc-provider/lib/provider.js';
import type { BackChannel } from './back-channel.ts';
import { confirmDevice, enterDeviceCode, showDeviceDone } from './device.ts';
import type { IssuerKeys } from './keys.ts';
import { renderErrorPage } from './pages/other-pages.ts';
import { claimsOf, findPerson, type Person } from './people/people.ts';
import { accessTokenClaims, describeResource } from './resources.ts';
import { confirmSignOut, redirectAnonymous, sendPage, showSignedOut } from './sign-out.ts';

export interface ProviderOptions {
  /** The exact issuer identifier. */
  readonly issuer: string;
  readonly people: readonly Person[];
  readonly keys: IssuerKeys;
  readonly cookieKeys: readonly string[];
  readonly adapter: AdapterFactory;
  /** Routes logout tokens to the right applications. */
  readonly backChannel: BackChannel;
  /** Is called with faults of the issuer itself and failed back-channel calls; not with refused requests. */
  readonly onError: (error: unknown) => void;
}

const minuteSeconds = 60;
const hourSeconds = 60 * minuteSeconds;
const daySeconds = 24 * hourSeconds;

export function makeProvider(options: ProviderOptions): ProviderType {
  const provider = new Provider(options.issuer, configure(options));
  // The listener sets the forwarded headers itself, so that every URL is built from the issuer's own.
  provider.proxy = true;
  provider.use((ctx, next) => redirectAnonymous(provider, ctx, next));
  provider.on('authorization.success', (ctx) => noteVisit(ctx, options.backChannel));
  provider.on('server_error', (_ctx, error) => options.onError(error));
  provider.on('backchannel.error', (_ctx, error) => options.onError(error));
  // Koa's own handler prints to the console, also a caller's mistakes.
  provider.onerror = (error) => {
    if (!('expose' in error && error.expose === true)) options.onError(error);
  };
  return provider;
}

function configure(options: ProviderOptions): Configuration {
  const { people } = options;
  return {
    adapter: options.adapter,
    jwks: { keys: [...options.keys.keys] },
    cookies: {
      keys: [...options.cookieKeys],
      // Browsers do not separate cookies by port: distinct names keep other local servers' cookies out.
      names: {
        session: 'freehold_issuer_session',
        interaction: 'freehold_issuer_interaction',
        resume: 'freehold_issuer_resume',
      },
    },
    findAccount: (_ctx, subject) => {
      const person = findPerson(people, subject);
      return person && { accountId: person.login, claims: () => claimsOf(person) };
    },
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'] },
    scopes: ['openid', 'offline_access'],
    responseTypes: ['code'],
    subjectTypes: ['public'],
    clientAuthMethods: ['client_secret_basic', 'none'],
    enabledJWA: { idTokenSigningAlgValues: ['ES256', 'RS256'] },
    pkce: { required: () => true },
    allowOmittingSingleRegisteredRedirectUri: false,
    // A page without a server redeems its code itself, from its redirect URI.
    clientBasedCORS: (_ctx, origin, client) =>
      client.clientAuthMethod === 'none' &&
      (client.redirectUris ?? []).some((uri) => URL.parse(uri)?.origin === origin),
    interactions: {
      policy: interactionPolicy(),
      url: (_ctx, interaction) => `/interaction/${interaction.uid}`,
    },
    loadExistingGrant: grantWhatIsAsked,
    renderError: (ctx, out) =>
      sendPage(ctx, renderErrorPage({ code: out.error, description: out.error_description })),
    extraTokenClaims: (ctx, token) => accessTokenClaims(ctx, token, people),
    // oidc-provider's own dispatcher refuses loopback addresses. The only fetches here are logout tokens for
    // registered clients, which are on loopback.
    fetch: (input, init) => options.backChannel.fetch(String(input), withoutDispatcher(init)),
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined as never,
        getResourceServerInfo: (_ctx, resource, client) => describeResource(resource, client),
        // A client that named the resource in its authorization request need not name it again (RFC 8707, section
        // 2.2).
        useGrantedResource: () => true,
      },
      deviceFlow: {
        enabled: true,
        userCodeInputSource: enterDeviceCode,
        userCodeConfirmSource: confirmDevice,
        successSource: showDeviceDone,
      },
      userinfo: { enabled: true },
      revocation: {
        enabled: true,
        allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
      },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx, form) => confirmSignOut(ctx, form, options),
        postLogoutSuccessSource: showSignedOut,
      },
    },
    ttl: {
      AuthorizationCode: minuteSeconds,
      DeviceCode: 10 * minuteSeconds,
      AccessToken: hourSeconds,
      IdToken: hourSeconds,
      Interaction: hourSeconds,
      Session: 12 * hourSeconds,
      RefreshToken: 14 * daySeconds,
      Grant: 14 * daySeconds,
    },
  };
}

function interactionPolicy() {
  const policy = basePolicy();
  // `prompt=select_account` is for issuers at which a user can be several people, as here.
  policy.add(new Prompt({ name: 'select_account', requestable: true }), 0);
  return policy;
}

/** Grants every request of a registered client, so that no consent page is needed. */
async function grantWhatIsAsked(ctx: KoaContextWithOIDC) {
  const { oidc } = ctx;
  const accountId = oidc.session?.accountId;
  const clientId = oidc.client?.clientId;
  if (accountId === undefined || clientId === undefined) return undefined;
  const grantId = oidc.session?.grantIdFor(clientId);
  const existing = grantId === undefined ? undefined : await oidc.provider.Grant.find(grantId);
  const grant =
    existing?.accountId === accountId ? existing : new oidc.provider.Grant({ accountId, clientId });
  grant.addOIDCScope([...oidc.requestParamOIDCScopes]);
  await grant.save();
  return grant;
}

/** Records the application of a client that a person signs in to: one client can have several. */
function noteVisit({ oidc }: KoaContextWithOIDC, backChannel: BackChannel): void {
  const clientId = oidc.client?.clientId;
  const sid = clientId === undefined ? undefined : oidc.session?.sidFor(clientId);
  const redirectUri = oidc.params?.redirect_uri;
  if (sid !== undefined && typeof redirectUri === 'string') backChannel.visited(sid, redirectUri);
}

function withoutDispatcher(init: RequestInit | undefined): RequestInit {
  const { dispatcher: _dispatcher, ...rest } = (init ?? {}) as RequestInit & { dispatcher?: unknown };
  return rest;
}
