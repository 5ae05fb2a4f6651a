/** A development server of a small application, with its events. */
import { type RequestOptions, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { DevEvent, DevOptions, Fault } from '../src/index.ts';
import { startDev } from '../src/index.ts';
import type { SmallApp } from './small-app.ts';

export type OpenDev = Awaited<ReturnType<typeof openDev>>;

export async function openDev(app: SmallApp, more: Partial<DevOptions> = {}) {
  const events: DevEvent[] = [];
  const dev = await startDev({
    folder: app.folder,
    port: 0,
    issuerPort: 0,
    onEvent: (event) => void events.push(event),
    ...more,
  });
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${dev.ready.url}${path}`, { headers });
  const tool = async (name: string, input: object = {}): Promise<unknown> => {
    const response = await fetch(dev.ready.devMcp, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: input },
      }),
    });
    // The protocol's older revisions are answered as one event of a stream.
    const [, data = ''] = /^data: (.*)$/m.exec(await response.text()) ?? [];
    const { result } = JSON.parse(data) as { result: { content: { text: string }[] } };
    return JSON.parse(result.content[0]?.text ?? '');
  };
  return {
    dev,
    events,
    get,
    /** Sends a request with headers that `fetch` sets itself. */
    send: (path: string, options: RequestOptions) =>
      new Promise<{ status: number | undefined; headers: NodeJS.Dict<string | string[]>; body: string }>(
        (resolve, reject) => {
          const sent = request(`${dev.ready.url}${path}`, options, async (response) => {
            const { statusCode: status, headers } = response;
            resolve({ status, headers, body: await text(response) });
          });
          sent.once('error', reject).end();
        },
      ),
    /** Calls a tool of the builder's agent, and returns its answer or its problem. */
    tool,
    /** Runs an operation as the owner. */
    call: async (operation: string, input: object = {}) =>
      ((await tool('call_operation', { operation, input })) as { output: unknown }).output,
    /** Deals with what was written, and returns the faults; none when it is served. */
    save: async (): Promise<readonly Fault[]> => {
      await dev.save();
      const last = events.findLast(({ type }) => type === 'broken' || type === 'served');
      return last?.type === 'broken' ? last.faults : [];
    },
    [Symbol.asyncDispose]: () => dev.close(),
  };
}
