/** The application of `localhost` itself: health, readiness, the development outbox, and a page of links. */

import { PlatformError } from '@freehold/contracts';
import { refusal } from '@freehold/contracts/http';
import { type Degradation, readyBody } from '@freehold/control-plane';
import type { HostRoute } from '@freehold/directory';
import { Hono } from 'hono';
import type { Client } from '../network/router.ts';
import type { LocalOutbox } from './mail.ts';

export interface HomeOptions {
  /** Whether everything is up. */
  readonly ready: () => Promise<boolean>;
  /** Members of the answer of `/readyz` beside its status. Default: none. */
  readonly readyDetails?: () => Readonly<Record<string, unknown>>;
  /** The faults that `/readyz` tells although requests are taken. */
  readonly degraded: () => readonly Degradation[];
  /** The applications to list on the page. Null: the page names no applications. */
  readonly routes: (() => Promise<readonly HostRoute[]>) | null;
  /** The control plane's host name. */
  readonly apiHostname: string;
  /** The origin of a host name as browsers show it. Default: with the port of the request. */
  readonly originOf?: (hostname: string) => string;
  /** Null: mail really leaves. */
  readonly outbox: LocalOutbox | null;
}

type HomeEnv = { readonly Bindings: Client };

export function makeHome(options: HomeOptions): Hono<HomeEnv> {
  const { ready, degraded, routes, apiHostname, originOf, outbox } = options;
  const app = new Hono<HomeEnv>();
  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  app.get('/readyz', async (c) =>
    (await ready())
      ? c.json({ ...readyBody(degraded()), ...options.readyDetails?.() })
      : c.json({ status: 'not ready' }, 503),
  );
  app.get('/', async (c) => {
    const port = new URL(c.req.url).port;
    const at = originOf ?? ((hostname: string) => `http://${hostname}${port ? `:${port}` : ''}`);
    const served = routes && (await routes()).filter((route) => route.serving);
    return c.html(
      page({
        applications: served?.map((route) => at(route.hostname)) ?? null,
        api: at(apiHostname),
        hasOutbox: outbox !== null,
      }),
      200,
      {
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      },
    );
  });
  if (outbox !== null) {
    for (const path of ['/outbox', '/outbox/*']) app.all(path, (c) => outbox.handle(c.req.raw, c.env));
  }
  app.notFound((c) =>
    refusal(c.req.raw.headers, new PlatformError('not_found', 'There is nothing at this address.')),
  );
  return app;
}

function page({
  applications,
  api,
  hasOutbox,
}: {
  readonly applications: readonly string[] | null;
  readonly api: string;
  readonly hasOutbox: boolean;
}): string {
  const links = applications?.map((url) => `<li><a href="${url}">${url}</a></li>`).join('');
  const list = links
    ? `<ul>${links}</ul>`
    : '<p>None yet. Provision a scope and bind a host name to it with the control plane.</p>';
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Freehold</title>
<style>
  :root { color-scheme: light dark; font: 1.05rem/1.6 system-ui, sans-serif; }
  main { max-width: 34rem; margin: 12vh auto; padding: 0 1.25rem; }
</style>
<main>
  <h1>Freehold is running</h1>
  ${links === undefined ? '' : `<h2>Applications</h2>\n  ${list}`}
  <h2>Control plane</h2>
  <p><a href="${api}/openapi.json">${api}/openapi.json</a> describes every route.</p>
  ${hasOutbox ? '<h2>Mail</h2>\n  <p>No mail leaves this platform. <a href="/outbox">The outbox</a> shows what would have.</p>' : ''}
</main>
</html>`;
}
