/** Host names and where they lead (spec 4.3; design: control-plane-routes, "Hostnames"). */
import { tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';

export const tag = 'Hostnames';

export const hostnameText = z
  .string()
  .min(1)
  .max(253)
  .describe('A full host name without a port; an international one is stored in its ASCII form');

export const whose = tenantId
  .optional()
  .describe('Whose claim, where several tenants claim the name; a builder may leave it out');

/** `pending → verifying → active`; `failed` may be tried again; `disabled` is a proven name that is switched off. */
export const hostnameStatus = z.enum(['pending', 'verifying', 'active', 'failed', 'disabled']);

/** The proof of a name: assigned by the platform, vouched for by staff, or by a challenge. */
export const hostnameMethod = z.enum(['platform', 'staff', 'dns', 'http']);

/** The reason why the newest check proved nothing. */
export const hostnameReason = z
  .enum([
    'record_missing',
    'record_wrong',
    'lookup_failed',
    'dns_required',
    'hostname_taken',
    'taken_over',
    'unbound',
  ])
  .describe(
    'record_missing: there is no record. record_wrong: there is one with another value. lookup_failed: the name servers or the web server did not answer, so that nothing is known. dns_required: another tenant claims the name too, or held it before, and only a DNS record decides. hostname_taken: another tenant has proven it. taken_over: another tenant proved it later. unbound: it was unbound meanwhile.',
  );
export type HostnameReason = z.infer<typeof hostnameReason>;

/** The challenge that proves a name: either of the two, whichever is easier to set. */
export const hostnameChallenge = z
  .object({
    dns: z.object({
      name: z.string().describe('Where the record goes'),
      type: z.literal('TXT'),
      value: z.string(),
    }),
    http: z.object({
      url: z.string().describe('This platform answers it by itself once the name leads here'),
      body: z.string(),
    }),
  })
  .meta({ id: 'HostnameChallenge' });
export type HostnameChallenge = z.infer<typeof hostnameChallenge>;

export const hostnameVerification = z
  .object({
    method: hostnameMethod.nullable().describe('Null as long as nothing proved the name'),
    verifiedAt: timestamp.nullable(),
    checkedAt: timestamp.nullable().describe('When the challenge was looked for last'),
    reason: hostnameReason.nullable().describe('Why the newest check proved nothing'),
    missingSince: timestamp
      .nullable()
      .describe('Since when the record of a proven name is gone; the name is served all the same'),
    challenge: hostnameChallenge
      .nullable()
      .describe('What proves the name; null where the platform gives it'),
  })
  .meta({ id: 'HostnameVerification' });

/** The result of a look-up. */
export const lookupOutcome = z.enum([
  'found',
  'nxdomain',
  'nodata',
  'servfail',
  'timeout',
  'refused',
  'failed',
]);

const TEXTS_MAX = 20;

export const dnsCheck = z.object({
  method: z.literal('dns'),
  name: z.string(),
  type: z.literal('TXT'),
  outcome: lookupOutcome,
  expected: z.string(),
  observed: z.array(z.string()).max(TEXTS_MAX).describe('The records that were found, shortened'),
  ok: z.boolean(),
});

export const httpCheck = z.object({
  method: z.literal('http'),
  url: z.string(),
  outcome: z.enum(['found', 'timeout', 'unreachable', 'refused']),
  status: z.int().nullable().describe('The status that was answered'),
  expected: z.string(),
  observed: z.string().nullable().describe('How the answer begins'),
  ok: z.boolean(),
});

/** The public addresses of the name: no proof, but useful to see when the proof fails. */
export const addressFound = z.object({
  outcome: lookupOutcome.describe('nodata: the name has no public address, or there is no such name'),
  cname: z.array(z.string()).max(TEXTS_MAX),
  addresses: z.array(z.string()).max(TEXTS_MAX),
});

export const hostnameChecks = z.object({
  checks: z.array(z.discriminatedUnion('method', [dnsCheck, httpCheck])),
  address: addressFound.nullable(),
});
export type HostnameChecks = z.infer<typeof hostnameChecks>;
export type DnsCheck = z.infer<typeof dnsCheck>;
export type HttpCheck = z.infer<typeof httpCheck>;
