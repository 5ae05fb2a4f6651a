/**
 * The public surface for the trader's own web site: the script of the appointment form, and the form's requests (spec
 * 4.6).
 */

import {
  makePublicActor,
  makeVisitorLimit,
  mountPublicSurface,
  mountWidgetScript,
} from '@freehold/vertical-host';
import type { Hono } from 'hono';
import { BOOKING } from '../lib/manifest.ts';
import { widgetOutput } from '../widget/schema.ts';
import { requireNode, scopeOf } from './caller.ts';
import type { FieldworkContext, FieldworkEnv, Services } from './env.ts';

/** Where the script is, among the built pages and on the web. */
const SCRIPT_PATH = '/embed/appointments.js';
const BASE_PATH = '/public';
/** The paths of the public surface; the router counts no request below them. */
export const PUBLIC_PATHS: readonly string[] = [BASE_PATH, SCRIPT_PATH];
/** A form of five fields. */
const BODY_BYTES_MAX = 16 * 1_024;
/** More appointments than the people behind one address ask of one business in a day. */
const ASKED_A_DAY = 20;

export function mountPublic(app: Hono<FieldworkEnv>, services: Services): void {
  const limit = makeVisitorLimit({ times: ASKED_A_DAY, windowSeconds: 86_400, now: services.deps.now });
  const script = services.deps.webFiles?.get(SCRIPT_PATH);
  if (script)
    mountWidgetScript(app, {
      ...services.problems,
      path: SCRIPT_PATH,
      source: new TextDecoder().decode(script.body),
    });
  mountPublicSurface(app, {
    ...services.problems,
    service: BOOKING,
    basePath: BASE_PATH,
    bodyLimitBytes: BODY_BYTES_MAX,
    resolveActor: (c, { service }) => actorOf(services, c, service),
    routes: (route) => {
      route.get('/appointments', async (c) => {
        const { name } = await scopeOf(services, c).identify({});
        return c.json({ business: name });
      });
      route.post('/appointments', async (c, { actor, body }) => {
        // One visitor could close the form for all others: the list of those who wait has an end.
        limit(requireNode(c).scope, c.env.clientAddress ?? null);
        await actor.invoke('request/ask', body);
        // The id of a request is nothing to a visitor, and nothing that he could be shown anything for.
        return c.json({ status: 'received' }, 201);
      });
    },
  });
}

/** The service in the instance that the page asked, with the sites that its owner listed at this moment. */
async function actorOf(services: Services, c: FieldworkContext, service: string) {
  const { tenant, scope } = requireNode(c);
  const { tenantId } = await scopeOf(services, c).identify({});
  if (tenantId !== tenant) return null;
  const stub = services.host.operations(scope, `service:${service}`);
  const { output } = await stub.invoke({ operation: 'widget/get', input: {} });
  return makePublicActor(stub, widgetOutput.parse(output).origins);
}
