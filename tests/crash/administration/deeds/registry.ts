/** Mutations of the registry of verticals, and of their rights. */
import { DIGEST, manifestOf } from '../../../../packages/directory/test/registry.ts';
import type { Bench, Deed } from '../bench.ts';
import { CARRIED_OUT, noRow, row, runtimeFile, THIS_REQUEST } from '../conditions.ts';
import { newTenant } from './tenants.ts';

interface App {
  readonly slug: string;
  readonly owner: string;
}

/** Makes a vertical with an owner. */
export async function newApp(bench: Bench): Promise<App> {
  const owner = await newTenant(bench);
  const slug = bench.name('app');
  await bench.value('verticals.create', { body: { slug, name: 'Prepared', ownerTenant: owner } });
  return { slug, owner };
}

async function registered(bench: Bench, slug: string): Promise<string> {
  const version = '1.0.0';
  const body = { version, digest: DIGEST, manifest: manifestOf(slug, version) };
  return (await bench.value('vertical-versions.register', { params: { slug }, body })).id;
}

async function admitted(bench: Bench, slug: string): Promise<string> {
  const id = await registered(bench, slug);
  await bench.value('vertical-versions.admit', { params: { slug, id }, body: {} });
  return id;
}

async function serving(bench: Bench, slug: string): Promise<void> {
  const id = await admitted(bench, slug);
  await bench.value('channels.promote', { params: { slug, channel: 'prod' }, body: { id } });
}

const previewOf = (slug: string) => ({
  manifest: manifestOf(slug, '2.0.0'),
  modules: [
    { name: 'index.js', mediaType: 'application/javascript+module', base64: btoa('export default 1') },
  ],
});

async function previewed(bench: Bench, slug: string): Promise<string> {
  const { preview } = await bench.value<{ preview: { id: string } }>('previews.create', {
    params: { slug },
    body: previewOf(slug),
  });
  return preview.id;
}

const app =
  (make: (bench: Bench, app: App) => ReturnType<Deed>): Deed =>
  async (bench) =>
    make(bench, await newApp(bench));

/** Gives a right to a vertical, or takes it. */
const grant = (
  operation: 'email-sender' | 'tenant-provisioner',
): { readonly put: Deed; readonly remove: Deed } => ({
  put: app(async (_bench, { slug }) => ({
    params: { slug },
    body: {},
    effect: [row('platform_grants WHERE vertical = ?', slug)],
  })),
  remove: app(async (bench, { slug }) => {
    await bench.value(`${operation}.put`, { params: { slug }, body: {} });
    return { params: { slug }, effect: [noRow('platform_grants WHERE vertical = ?', slug)] };
  }),
});

const emailSender = grant('email-sender');
const tenantProvisioner = grant('tenant-provisioner');

export const registryDeeds = {
  'verticals.create': async (bench) => {
    const slug = bench.name('app');
    return { body: { slug, name: 'Made' }, effect: [row('verticals WHERE slug = ?', slug)] };
  },
  'verticals.update': app(async (_bench, { slug }) => ({
    params: { slug },
    body: { name: 'Renamed' },
    effect: [row(`verticals WHERE slug = ? AND name = 'Renamed'`, slug)],
  })),
  'vertical-versions.register': app(async (_bench, { slug }) => ({
    params: { slug },
    body: { version: '1.0.0', digest: DIGEST, manifest: manifestOf(slug, '1.0.0') },
    effect: [row('vertical_versions WHERE vertical = ?', slug)],
  })),
  'vertical-versions.admit': app(async (bench, { slug }) => {
    const id = await registered(bench, slug);
    return {
      params: { slug, id },
      body: {},
      effect: [row(`vertical_versions WHERE id = ? AND status = 'admitted'`, id)],
    };
  }),
  'vertical-versions.reject': app(async (bench, { slug }) => {
    const id = await registered(bench, slug);
    return {
      params: { slug, id },
      body: {},
      effect: [row(`vertical_versions WHERE id = ? AND status = 'rejected'`, id)],
    };
  }),
  'vertical-versions.discard': app(async (bench, { slug }) => {
    const { manifest, modules } = previewOf(slug);
    const made = await bench.value<{ version: { id: string; script: string } }>('verticals.deploy', {
      params: { slug },
      body: { manifest, modules, admit: true },
    });
    const { id, script } = made.version;
    return {
      params: { slug, id },
      effect: [
        row(`vertical_versions WHERE id = ? AND status = 'pending' AND uploaded_at IS NULL`, id),
        runtimeFile(`discarded-${script}`),
      ],
    };
  }),
  'channels.promote': app(async (bench, { slug }) => {
    const id = await admitted(bench, slug);
    return {
      params: { slug, channel: 'prod' },
      body: { id },
      effect: [row('verticals WHERE slug = ? AND serving = ?', slug, id)],
    };
  }),
  'verticals.deploy': app(async (_bench, { slug }) => ({
    params: { slug },
    body: {
      manifest: manifestOf(slug, '1.0.0'),
      modules: [
        { name: 'index.js', mediaType: 'application/javascript+module', base64: btoa('export default 1') },
      ],
      admit: true,
      promote: true,
    },
    effect: [
      row(
        `verticals v JOIN vertical_versions n ON n.id = v.serving
         WHERE v.slug = ? AND n.status = 'admitted' AND n.uploaded_at IS NOT NULL`,
        slug,
      ),
      runtimeFile(`serving-${slug}-1.0.0`),
    ],
  })),
  'verticals.move': app(async (bench, { slug, owner: builder }) => {
    await serving(bench, slug);
    return {
      params: { slug },
      body: {},
      builder,
      effect: [row(CARRIED_OUT, THIS_REQUEST, THIS_REQUEST)],
    };
  }),
  'previews.create': app(async (_bench, { slug, owner: builder }) => ({
    params: { slug },
    body: previewOf(slug),
    builder,
    effect: [row('previews WHERE vertical = ?', slug)],
  })),
  'previews.open': app(async (bench, { slug, owner: builder }) => {
    const preview = await previewed(bench, slug);
    return {
      params: { slug, preview },
      builder,
      effect: [row(`admin_log WHERE action = 'previews.open' AND outcome = 'done' AND other = ?`, preview)],
    };
  }),
  'previews.end': app(async (bench, { slug, owner: builder }) => {
    const preview = await previewed(bench, slug);
    return {
      params: { slug, preview },
      builder,
      effect: [noRow('previews WHERE id = ?', preview)],
    };
  }),
  'secrets.set': app(async (_bench, { slug, owner: builder }) => ({
    params: { slug, name: 'PAYMENT_KEY' },
    body: { secret: 'first' },
    builder,
    // The processes of verticals end with the platform: the next one reads the secret at its start.
    effect: [row('vertical_secrets WHERE vertical = ?', slug)],
  })),
  'secrets.rotate': app(async (bench, { slug, owner: builder }) => {
    const params = { slug, name: 'PAYMENT_KEY' };
    const { etag } = await bench.value<{ etag: string }>('secrets.set', {
      params,
      body: { secret: 'first' },
      builder,
    });
    return {
      params,
      body: { secret: 'second' },
      builder,
      effect: [row('vertical_secrets WHERE vertical = ? AND revision > ?', slug, Number(etag))],
    };
  }),
  'secrets.remove': app(async (bench, { slug, owner: builder }) => {
    const params = { slug, name: 'PAYMENT_KEY' };
    await bench.value('secrets.set', { params, body: { secret: 'first' }, builder });
    return { params, builder, effect: [noRow('vertical_secrets WHERE vertical = ?', slug)] };
  }),
  'listings.put': app(async (_bench, { slug }) => ({
    params: { slug },
    body: { tier: 'private', title: 'Described' },
    effect: [row(`vertical_listings WHERE vertical = ? AND title = 'Described'`, slug)],
  })),
  'listings.request-publish': app(async (bench, { slug, owner }) => {
    await serving(bench, slug);
    return {
      params: { slug },
      body: { note: 'Please look.' },
      builder: owner,
      effect: [row('vertical_listings WHERE vertical = ? AND request IS NOT NULL', slug)],
    };
  }),
  'install-blocks.put': app(async (_bench, { slug, owner }) => ({
    params: { slug },
    body: { reason: 'Not yet.' },
    builder: owner,
    effect: [row('install_blocks WHERE vertical = ?', slug)],
  })),
  'install-blocks.delete': app(async (bench, { slug, owner: builder }) => {
    await bench.value('install-blocks.put', { params: { slug }, body: { reason: 'Not yet.' }, builder });
    return { params: { slug }, builder, effect: [noRow('install_blocks WHERE vertical = ?', slug)] };
  }),
  'email-sender.put': emailSender.put,
  'email-sender.delete': emailSender.remove,
  'tenant-provisioner.put': tenantProvisioner.put,
  'tenant-provisioner.delete': tenantProvisioner.remove,
} as const satisfies Readonly<Record<string, Deed>>;
