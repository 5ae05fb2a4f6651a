/** A bundle that tries what a hostile author would try. Each trick is an address; the answer says what came of it. */
import { WorkerEntrypoint } from 'cloudflare:workers';
import { CALL_HEADER, encodeCall } from '@freehold/app/worker/capabilities';
import { hostedApp } from '@freehold/app/worker/hosted';
import { notes } from './plain.ts';

const { Instance: Honest, Declaration } = hostedApp(notes('1.0.0', []));

export { Declaration };

/** A variable of an author's module is seen by every instance of the bundle. */
let noted: unknown = null;

type Trick = (self: InstanceType<typeof Hostile>, query: URLSearchParams) => unknown;

const TRICKS: Readonly<Record<string, Trick>> = {
  '/loop': () => {
    for (;;) noted = Math.random();
  },
  '/allocate': () => {
    const all: unknown[] = [];
    for (;;) all.push(new Array(1_000_000).fill(all.length));
  },
  '/env': (self) => ({ env: Object.keys(self.environment), process: process.env }),
  '/files': async () => {
    const { readdirSync, readFileSync } = await import('node:fs');
    return { root: readdirSync('/'), passwd: attempt(() => readFileSync('/etc/passwd', 'utf8')) };
  },
  '/fork': async () => {
    const { spawnSync } = await import('node:child_process');
    return String(spawnSync('id').stdout);
  },
  '/connect': async (_self, query) => {
    const { connect } = await import('node:net');
    return new Promise((resolve, reject) => {
      connect(Number(query.get('port')), '127.0.0.1')
        .once('connect', () => resolve('connected'))
        .once('error', reject);
    });
  },
  '/fetch': async (_self, query) => {
    const response = await fetch(query.get('url') ?? '');
    return { status: response.status, text: (await response.text()).slice(0, 100) };
  },
  '/identity': (self, query) =>
    self.props.platform.identity(query.get('method') ?? '', JSON.parse(query.get('input') ?? '{}'), {}),
  '/vault': (self, query) => self.props.platform.vault(query.get('method') ?? '', [[query.get('subject')]]),
  '/blobs': async (self, query) => {
    const response = await self.props.platform.blobs(
      new Request(`http://blobs.internal${query.get('path')}`),
    );
    return { status: response.status };
  },
  '/model': async (self, query) => {
    const response = await self.props.platform.model(new Request(query.get('url') ?? ''));
    return { status: response.status, text: (await response.text()).slice(0, 300) };
  },
  '/abilities': async (self) => {
    const has = async (name: string) => {
      const call = (self.props.platform as unknown as Record<string, (request: Request) => Promise<unknown>>)[
        name
      ];
      return call?.(new Request('https://issuer.invalid/')).then(
        () => 'answered',
        () => 'none',
      );
    };
    return { mail: await has('mail'), issuer: await has('issuer') };
  },
  '/holder': (self) => self.props.platform.tellHolder(),
  '/secret': (self) => ({ secrets: self.props.platformSecret, settings: self.props.settings }),
  '/note': (self) => {
    noted = { tenant: self.props.tenant, platform: self.props.platform };
    return 'noted';
  },
  '/noted': async (_self, query) => {
    const { tenant, platform } = noted as { tenant: string; platform: Hostile['props']['platform'] };
    const input = { scopeId: query.get('scope') };
    return { tenant, answer: await platform.identity('listMembers', input, {}).catch(String) };
  },
  '/say': () => {
    // biome-ignore lint/suspicious/noConsole: the test looks for it.
    console.log('said');
    return 'said';
  },
  '/forge': async (self, query) => {
    const about = { tenant: query.get('tenant') ?? '', scope: query.get('scope') ?? '' };
    const call = encodeCall({ ...about, serving: null, node: null, clientAddress: null, caller: null });
    const exports = self.exported as { readonly Speaker: Fetcher };
    const response = await exports.Speaker.fetch('http://x.invalid/', { headers: { [CALL_HEADER]: call } });
    return response.text();
  },
  '/pollute': () => {
    (Object.prototype as Record<string, unknown>).polluted = true;
    return 'polluted';
  },
  '/polluted': () => ({ polluted: ({} as Record<string, unknown>).polluted ?? false }),
  '/flood': () => {
    // biome-ignore lint/suspicious/noConsole: that is the trick.
    for (let i = 0; i < 20_000; i++) console.log('x');
    return 'flooded';
  },
};

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return String(error);
  }
}

/** Called by the bundle itself, with a word of the platform of its own making. */
export class Speaker extends WorkerEntrypoint {
  override fetch(): Response {
    // biome-ignore lint/suspicious/noConsole: that is the trick.
    console.log('forged');
    return new Response('spoke');
  }
}

class Hostile extends Honest {
  get exported(): unknown {
    return this.ctx.exports;
  }

  get props() {
    return this.ctx.props as {
      readonly tenant: string;
      readonly platform: import('@freehold/app/worker/capabilities').PlatformCapability;
      readonly platformSecret: readonly string[];
      readonly settings: Readonly<Record<string, string>>;
    };
  }

  get environment(): object {
    return this.env as object;
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/headers')
      return Response.json(
        Object.fromEntries(
          [...request.headers].filter(([name]) => /^(?:x-|cookie$|authorization$)/.test(name)),
        ),
      );
    if (pathname === '/sized') {
      const { readable, writable } = new FixedLengthStream(200_000);
      void writable.getWriter().write(new Uint8Array(200_000));
      return new Response(readable, { headers: { 'content-length': '200000' } });
    }
    if (pathname === '/zipped') {
      const zipped = new Response('a word '.repeat(1_000)).body?.pipeThrough(new CompressionStream('gzip'));
      const bytes = await new Response(zipped).arrayBuffer();
      const headers = { 'content-encoding': 'gzip', 'content-length': String(bytes.byteLength) };
      return new Response(bytes, { headers, encodeBody: 'manual' });
    }
    if (pathname === '/planted') {
      const planted = ['sb_session=planted; Path=/', '__Host-sb_session=planted; Path=/; Secure', 'own=1'];
      return new Response('', { headers: planted.map((each): [string, string] => ['set-cookie', each]) });
    }
    if (pathname === '/endless')
      return new Response(
        new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }),
      );
    if (pathname === '/head') return new Response('', { headers: { 'x-long': 'a'.repeat(100 * 1_048_576) } });
    const trick = TRICKS[pathname];
    if (!trick) return super.fetch(request);
    try {
      return Response.json({ answer: await trick(this, searchParams) });
    } catch (error) {
      return Response.json({ thrown: String(error) });
    }
  }
}

export { Hostile as Instance };
