/** The sign-in interaction: shows the people to choose from, and gives the choice to oidc-provider. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { renderExpiredPage } from './pages/other-pages.ts';
import type { Page } from './pages/page.ts';
import { renderSignInPage } from './pages/sign-in-page.ts';
import { findPerson, loginOfHint, type Person } from './people/people.ts';
import { endSession } from './sign-out.ts';

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

export interface InteractionOptions {
  readonly provider: Provider;
  readonly people: readonly Person[];
  readonly onError: (error: unknown) => void;
}

/** One request to `/interaction/:uid`, and everything needed to answer it. */
interface Exchange extends InteractionOptions {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly interaction: Interaction;
}

/** A sign-in form is some dozens of bytes. */
const bodyBytesMax = 4096;

/** Whether a path is one that {@link handleInteraction} answers. */
export function isInteractionPath(path: string): boolean {
  return /^\/interaction\/[\w-]+$/.test(path);
}

/**
 * Answers a sign-in page's GET and POST. The page belongs to the browser with the interaction's cookie, which is bound
 * to the path, and SameSite=Lax: another site can neither read the page nor send its form.
 */
export async function handleInteraction(
  request: IncomingMessage,
  response: ServerResponse,
  options: InteractionOptions,
): Promise<void> {
  const interaction = await findInteraction(request, response, options.provider);
  if (interaction === undefined) return writePage(response, 400, renderExpiredPage());
  const exchange = { ...options, request, response, interaction };
  if (request.method === 'GET' || request.method === 'HEAD') return showInteraction(exchange);
  if (request.method === 'POST') return takeForm(exchange);
  response.writeHead(405, { allow: 'GET, HEAD, POST' }).end();
}

export function writePage(response: ServerResponse, status: number, page: Page): void {
  response.writeHead(status, page.headers).end(page.body);
}

async function findInteraction(request: IncomingMessage, response: ServerResponse, provider: Provider) {
  try {
    const interaction = await provider.interactionDetails(request, response);
    return request.url === `/interaction/${interaction.uid}` ? interaction : undefined;
  } catch (error) {
    // SessionNotFound: no cookie, a finished interaction, or a session that changed meanwhile.
    if (error instanceof Error && error.name === 'SessionNotFound') return undefined;
    throw error;
  }
}

async function showInteraction(exchange: Exchange): Promise<void> {
  // Registering a client gives consent: `prompt=consent` is answered without a page.
  if (exchange.interaction.prompt.name === 'consent') return finish(exchange, { consent: {} });
  writePage(exchange.response, 200, await signInPage(exchange, undefined));
}

async function takeForm(exchange: Exchange): Promise<void> {
  const form = await readForm(exchange.request);
  if (form === undefined) {
    exchange.response.writeHead(400, { connection: 'close' }).end();
    return;
  }
  if (form.get('cancel') !== null) {
    return finish(exchange, { error: 'access_denied', error_description: 'The sign-in was cancelled.' });
  }
  const typed = form.get('login') ?? '';
  const person = findPerson(exchange.people, typed.trim().toLowerCase());
  if (person === undefined)
    return writePage(exchange.response, 422, await signInPage(exchange, typed.slice(0, 64)));
  await leaveOtherPerson(exchange, person);
  await finish(exchange, { select_account: {}, login: { accountId: person.login } });
}

/**
 * Ends the present session when another person was chosen. oidc-provider would do so with a page whose script submits
 * a form. It compares the interaction's session with the browser's afterwards, so the interaction must forget the
 * ended one.
 */
async function leaveOtherPerson(exchange: Exchange, person: Person): Promise<void> {
  const { interaction, provider } = exchange;
  if (interaction.session === undefined || interaction.session.accountId === person.login) return;
  const session = await provider.Session.findByUid(interaction.session.uid);
  if (session !== undefined && session.accountId !== undefined) {
    await endSession(provider, session, exchange.onError);
    interaction.session = undefined;
    await interaction.persist();
  }
}

function finish(exchange: Exchange, result: Parameters<Provider['interactionFinished']>[2]): Promise<void> {
  // Merging keeps an earlier answer of this sign-in (the person) when a later prompt (consent) is answered.
  return exchange.provider.interactionFinished(exchange.request, exchange.response, result, {
    mergeWithLastSubmission: true,
  });
}

async function signInPage(
  { interaction, people, provider }: Exchange,
  refused: string | undefined,
): Promise<Page> {
  const { client_id: clientId, redirect_uri: redirectUri, login_hint: hint } = interaction.params;
  const client = typeof clientId === 'string' ? await provider.Client.find(clientId) : undefined;
  if (client === undefined) return renderExpiredPage();
  const signedIn = findPerson(people, interaction.session?.accountId ?? '');
  return renderSignInPage({
    action: `/interaction/${interaction.uid}`,
    clientName: client.clientName ?? client.clientId,
    clientHost: (typeof redirectUri === 'string' && URL.parse(redirectUri)?.host) || client.clientId,
    // Of this sign-in alone: a client may have a thousand addresses, and headers have a limit.
    formsLeadTo: typeof redirectUri === 'string' ? [redirectUri] : [],
    people: signedIn === undefined || people.includes(signedIn) ? people : [signedIn, ...people],
    signedIn: signedIn?.login,
    suggested: typeof hint === 'string' ? loginOfHint(people, hint) : undefined,
    refused,
  });
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  const mediaType = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (mediaType !== 'application/x-www-form-urlencoded') return undefined;
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += String(chunk);
    if (body.length > bodyBytesMax) return undefined;
  }
  return new URLSearchParams(body);
}
