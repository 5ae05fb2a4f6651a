/** A request's way to its route: who may ask, what is asked for, and what a failure looks like to whoever asked. */
import { PlatformError, PROBLEMS, publicError } from '@freehold/contracts';
import { requireSameOrigin, wantsPage } from '@freehold/contracts/http';
import { problemAnswer, withCare } from '../lib/answers.ts';
import type { Exchange, Handler, ProviderContext } from './lib/context.ts';
import { findKnownBrowser } from './known-browser.ts';
import { messagePage } from './pages/message-page.ts';
import { pageResponse } from './lib/responses.ts';
import { AUTH_BASE } from './pages/paths.ts';
import { ROUTES, type Route } from './routes/table.ts';

/** What the listener knows about where a request comes from. */
export interface Connection {
  /** The client's network address: attempts are limited by it as well. */
  readonly clientAddress?: string | undefined;
}

/** Answers any request under `/api/auth/`. Never rejects: what nobody expected is reported, and is a 500. */
export async function dispatch(
  context: ProviderContext,
  request: Request,
  connection: Connection = {},
): Promise<Response> {
  const url = new URL(request.url);
  const route = findRoute(url.pathname);
  if (route === undefined) return problemAnswer(nothingHere());
  const handler = handlerOf(route, request.method);
  if (handler === undefined) return problemAnswer(otherMethod(route));
  try {
    const exchange = makeExchange(context, request, { url, ...connection });
    try {
      // A cookie rides along on whatever page made the browser post, and signing somebody in as somebody else is an
      // attack as well: every form and every call of our script comes from our own pages.
      if (request.method === 'POST') requireSameOrigin(request.headers, exchange.origin, { pageOnly: true });
      const response = await handler(context, exchange);
      return withCare(request.method === 'HEAD' ? new Response(null, response) : response);
    } catch (error) {
      return failure(context, exchange, { error, json: route.json === true });
    }
  } catch (error) {
    context.report(error);
    return problemAnswer(publicError(error));
  }
}

function findRoute(pathname: string): Route | undefined {
  return pathname.startsWith(`${AUTH_BASE}/`) ? ROUTES.get(pathname.slice(AUTH_BASE.length + 1)) : undefined;
}

function handlerOf(route: Route, method: string): Handler | undefined {
  if (method === 'HEAD') return route.unsafe ? undefined : route.GET;
  return method === 'GET' ? route.GET : method === 'POST' ? route.POST : undefined;
}

function makeExchange(
  context: ProviderContext,
  request: Request,
  { url, clientAddress }: Connection & { readonly url: URL },
): Exchange {
  const { theme, scopeId } = context;
  const origin = context.originOf(request);
  const browser = findKnownBrowser(context, request.headers, origin);
  return {
    request,
    query: url.searchParams,
    origin,
    appName: theme.appName ?? new URL(origin).host,
    attempt: { scopeId, address: clientAddress, browser },
  };
}

/** A problem for our script and for software; a page with the same sentence for somebody who navigates. */
function failure(
  context: ProviderContext,
  exchange: Exchange,
  { error, json }: { readonly error: unknown; readonly json: boolean },
): Response {
  const told = publicError(error);
  if (told.status >= 500) context.report(error);
  if (json || !wantsPage(exchange.request.headers)) return problemAnswer(told);
  const page = messagePage({
    heading: PROBLEMS[told.code].title,
    sentences: [told.message],
    failed: true,
    next: { label: 'Go back', url: context.theme.homeUrl },
  });
  return pageResponse(context, exchange, page, { status: told.status, headers: told.headers ?? {} });
}

function nothingHere(): PlatformError {
  return new PlatformError('not_found', 'There is no sign-in route at this address.');
}

function otherMethod(route: Route): PlatformError {
  const methods = [route.GET && 'GET', route.GET && !route.unsafe && 'HEAD', route.POST && 'POST'];
  const allow = methods.filter((each) => each).join(', ');
  return new PlatformError('method_not_allowed', `This address takes ${allow}.`, { headers: { allow } });
}
