/** A platform that is stopped while a person reads what a program of revision 2025-11-25 would destroy. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { Caller } from '../support/http.ts';
import { newPlace, startPlatform } from '../support/platform.ts';

test('it stops at once, nothing is done, and the program is told so', async () => {
  const place = await newPlace();
  onTestFinished(() => place.remove());
  const platform = await startPlatform(place);
  const caller = new Caller();
  onTestFinished(() => caller[Symbol.dispose]());
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: 'legacy' }, capabilities: { elicitation: { form: {} } } },
  );
  const stopped = Promise.withResolvers<number | null>();
  client.setRequestHandler('elicitation/create', () => {
    stopped.resolve(platform.stop());
    return new Promise<never>(() => undefined);
  });
  const fetch = (url: string | URL, { method = 'GET', headers, body }: RequestInit = {}) =>
    caller.open(String(url), {
      method,
      headers: {
        ...Object.fromEntries(new Headers(headers)),
        authorization: `Bearer ${platform.serviceToken()}`,
      },
      ...(typeof body === 'string' ? { json: JSON.parse(body) } : {}),
    });
  const address = new URL(`${place.url('api.localhost')}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(address, { fetch }));
  const made = await client.callTool({ name: 'tenants_create', arguments: { slug: 'grace', name: 'Grace' } });
  const { id: tenant } = made.structuredContent as { id: string };
  const suspend = { tenant, status: 'suspended' };
  const refused = await client.callTool({ name: 'tenants_set-status', arguments: suspend });
  expect(refused).toMatchObject({
    isError: true,
    _meta: { 'freehold/problem': { reason: 'consent_cancelled' } },
  });
  expect(await stopped.promise).toBe(0);
  await client.close().catch(() => undefined);
});
