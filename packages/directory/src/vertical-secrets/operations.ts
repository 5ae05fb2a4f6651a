/** Setting, replacing, listing and removing the secrets of a vertical. No answer and no log ever holds a value. */
import { PlatformError, pageOf, pageQuery, slug } from '@freehold/contracts';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  SECRETS_MAX,
  secretName,
  secretText,
  verticalSecretRecord,
} from '../declarations/vertical-secrets.ts';
import { params as ofVertical, tag } from '../declarations/verticals.ts';
import { type ChangeHandler, change, read } from '../lib/handlers.ts';
import { targetOf } from '../vertical-registry/operations.ts';
import { requireVertical } from '../vertical-registry/verticals-store.ts';
import { countSecrets, deleteSecret, listSecrets, loadSecret, saveSecret, secretRecord } from './store.ts';

const params = z.strictObject({ slug, name: secretName });
const body = z.strictObject({ secret: secretText });

const delivered =
  'Each version of the vertical gets it as a setting of that name; a setting of the platform or one that is delivered to an instance wins over it. One whose name begins with PREVIEW_ is for previews alone, which get it without that prefix, and no others. Instances that run start again with it before their next request.';

export const secretsList = adminOperation({
  name: 'secrets.list',
  summary: 'List the secrets of a vertical, without their values',
  tag,
  method: 'GET',
  path: '/verticals/:slug/secrets',
  input: { params: ofVertical, query: z.strictObject(pageQuery) },
  output: pageOf(verticalSecretRecord),
  builder: 'own-tenant',
  pushToken: 'deploy',
});

export const readSecrets = /* @__PURE__ */ read(secretsList, ({ db }, { params, query, actor }) => {
  const { slug: vertical } = requireVertical(db, actor, params.slug);
  return { value: listSecrets(db, { ...query, vertical }) };
});

export const secretsSet = adminOperation({
  name: 'secrets.set',
  summary: 'Set a secret of a vertical',
  description: `Replaces the one of that name, if there is one. It is stored sealed, and no answer shows it. ${delivered}`,
  tag,
  method: 'PUT',
  path: '/verticals/:slug/secrets/:name',
  input: { params, body },
  output: verticalSecretRecord,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  etag: true,
  problems: ['conflict', 'unsupported', 'unavailable'],
});

export const secretsRotate = adminOperation({
  name: 'secrets.rotate',
  summary: 'Replace a secret that a vertical has',
  description: `One that is not there is refused, so that a name with a mistake in it makes no second one. ${delivered}`,
  tag,
  method: 'POST',
  path: '/verticals/:slug/secrets/:name/rotate',
  input: { params, body },
  output: verticalSecretRecord,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  etag: true,
  problems: ['unsupported', 'unavailable'],
});

/**
 * @param sealed the secret, sealed for its place. The call has it in clear, so that a key with another secret is refused.
 */
export function putSecret(
  operation: typeof secretsSet | typeof secretsRotate,
  sealed: string,
): ChangeHandler {
  return change(operation, (context, { params, actor, ifMatch }) => {
    const { db, revision } = context;
    const vertical = requireVertical(db, actor, params.slug);
    const key = { vertical: vertical.slug, name: params.name };
    const before = loadSecret(db, key);
    if (!before && operation.name === 'secrets.rotate') throw unknownSecret();
    requireMatch(ifMatch, before ? String(before.revision) : null);
    if (!before && countSecrets(db, vertical.slug) >= SECRETS_MAX)
      throw new PlatformError(
        'conflict',
        `A vertical has at most ${SECRETS_MAX} secrets: remove one first.`,
        {
          reason: 'too_many_secrets',
        },
      );
    const nowMs = context.now();
    const { kind, id, name } = actor;
    const after = {
      ...key,
      setBy: { kind, id, name },
      revision,
      createdAtMs: before?.createdAtMs ?? nowMs,
      updatedAtMs: nowMs,
    };
    saveSecret(db, { ...after, sealed });
    const record = secretRecord(after);
    const audit = {
      target: targetOf(vertical, params.name),
      before: before ? { name: before.name, updatedAt: secretRecord(before).updatedAt } : null,
      after: { name: record.name, updatedAt: record.updatedAt },
    };
    return { value: record, audit };
  });
}

export const secretsRemove = adminOperation({
  name: 'secrets.remove',
  summary: 'Remove a secret of a vertical',
  description:
    'Its sealed text is deleted. Instances that run start again without it before their next request.',
  tag,
  method: 'DELETE',
  path: '/verticals/:slug/secrets/:name',
  input: { params },
  output: z.null(),
  success: 204,
  builder: 'own-tenant',
  pushToken: 'deploy',
  destructive: true,
  etag: true,
});

export const removeSecret = /* @__PURE__ */ change(secretsRemove, ({ db }, { params, actor, ifMatch }) => {
  const vertical = requireVertical(db, actor, params.slug);
  const key = { vertical: vertical.slug, name: params.name };
  const before = loadSecret(db, key);
  if (!before) throw unknownSecret();
  requireMatch(ifMatch, String(before.revision));
  deleteSecret(db, key);
  const { name, updatedAt } = secretRecord(before);
  return { audit: { target: targetOf(vertical, name), before: { name, updatedAt }, after: null } };
});

function unknownSecret(): PlatformError {
  return new PlatformError('not_found', 'This vertical has no secret of that name.', {
    reason: 'unknown_secret',
  });
}
