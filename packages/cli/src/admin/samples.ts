/** Sample values for examples, which every schema accepts. */
import type { Field } from './fields.ts';

const ULID = '01jd0000000000000000000000';

/** By field, or by `operation field` where the field means something else. */
const SAMPLES: Readonly<Record<string, string>> = {
  tenant: `tnt_${ULID}`,
  ownerTenant: `tnt_${ULID}`,
  scope: `scp_${ULID}`,
  event: `evt_${ULID}`,
  invocation: `inv_${ULID}`,
  snapshot: `snp_${ULID}`,
  backup: `bkp_${ULID}`,
  connection: `con_${ULID}`,
  token: `tok_${ULID}`,
  operation: `opn_${ULID}`,
  member: `stf_${ULID}`,
  program: `grt_${ULID}`,
  hosts: 'agent.example',
  id: `ver_${ULID}`,
  identity: `tid_${ULID}`,
  subject: 'sub-1001',
  subjectRef: 'accounting',
  key: 'crew-lead',
  slug: 'fieldwork',
  name: 'Acme',
  vertical: 'fieldwork',
  channel: 'prod',
  table: 'jobs',
  hostname: 'acme.example.org',
  email: 'ada@example.org',
  why: 'The owner left the company',
  reason: 'Loses uploads',
  title: 'Fieldwork',
  version: '1.4.0',
  digest: '0'.repeat(64),
  manifest: '@manifest.json',
  config: '@config.json',
  from: '@from.json',
  permissions: 'job.read',
  permission: 'job.read',
  sql: 'SELECT count(*) FROM jobs',
  entityType: 'job',
  entityId: 'job-1',
  subscriber: 'billing',
  provider: 'bookkeeping',
  apiKey: '@key.txt',
  issuer: 'https://id.example.org',
  fingerprint: '0'.repeat(32),
  bookmark: 'bm_1',
  preview: 'prv_01jd0000000000000000000000',
  modules: '@module.json',
  secret: '@key.txt',
  'secrets.set name': 'PAYMENT_KEY',
  'secrets.rotate name': 'PAYMENT_KEY',
  'secrets.remove name': 'PAYMENT_KEY',
  'entitlements.put key': 'seats',
  'entitlements.delete key': 'seats',
  'scopes.provision slug': 'main',
  'scopes.provision name': 'Main',
  'roles.put name': 'Crew lead',
  'tenants.create slug': 'acme',
  'staff.put name': 'Ada',
};

export function sampleWords(operation: string, field: Field): string {
  const value = sampleOf(operation, field);
  return /^[\w@.:/-]+$/.test(value) ? value : `"${value}"`;
}

function sampleOf(operation: string, { name, values }: Field): string {
  return SAMPLES[`${operation} ${name}`] ?? values?.[0] ?? SAMPLES[name] ?? name;
}
