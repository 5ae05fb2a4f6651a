/** A small table that has one of everything the transport treats differently. */

import { pageOf, pageQuery } from '@freehold/contracts';
import { adminOperation } from '@freehold/directory/declarations';
import { z } from 'zod';

const thingId = z.string().regex(/^thing-[0-9]+$/);
const color = z.enum(['red', 'green']);
/** Differs between request and answer: the default may be left out of a request. */
const label = z.object({ text: z.string(), lang: z.string().default('en') }).meta({ id: 'SampleLabel' });
const thing = z.object({ id: thingId, name: z.string(), labels: z.array(label) }).meta({ id: 'SampleThing' });
const params = z.strictObject({ thing: thingId });

export const sampleOperations = {
  'things.list': adminOperation({
    name: 'things.list',
    summary: 'List the things',
    tag: 'Tenants',
    method: 'GET',
    path: '/things',
    input: {
      query: z.object({
        ...pageQuery,
        tenant: z.string().optional(),
        q: z.string().optional(),
        open: z.boolean().optional(),
        sinceMs: z.number().nullable().optional(),
        color: z.array(color).optional(),
        level: z.union([z.literal(1), z.literal(2)]).optional(),
      }),
    },
    output: pageOf(thing),
    success: 200,
    builder: 'own-tenant',
    audit: 'none',
  }),
  'things.create': adminOperation({
    name: 'things.create',
    summary: 'Create a thing',
    tag: 'Tenants',
    method: 'POST',
    path: '/things',
    input: {
      body: z.object({
        tenant: z.string(),
        name: z.string().max(20),
        labels: z.array(label).default([]),
        note: z.unknown().optional(),
      }),
    },
    output: thing,
    success: 201,
    builder: 'own-tenant',
    audit: 'audit',
    etag: true,
    problems: ['conflict'],
  }),
  'things.get': adminOperation({
    name: 'things.get',
    summary: 'Get one thing',
    tag: 'Tenants',
    method: 'GET',
    path: '/things/:thing',
    input: { params },
    output: thing,
    success: 200,
    builder: 'own-tenant',
    audit: 'access',
    etag: true,
  }),
  'things.rename': adminOperation({
    name: 'things.rename',
    summary: 'Rename a thing',
    tag: 'Tenants',
    method: 'PATCH',
    path: '/things/:thing',
    input: { params, body: z.strictObject({ name: z.string().optional() }) },
    output: thing,
    success: 200,
    builder: 'none',
    audit: 'audit',
    etag: true,
    problems: ['invalid_transition'],
  }),
  'things.delete': adminOperation({
    name: 'things.delete',
    summary: 'Delete a thing',
    tag: 'Tenants',
    method: 'DELETE',
    path: '/things/:thing',
    input: { params },
    output: z.null(),
    success: 204,
    builder: 'none',
    audit: 'audit',
  }),
  'dead-things.set-all': adminOperation({
    name: 'dead-things.set-all',
    summary: 'Set every dead thing',
    tag: 'Tenants',
    method: 'PUT',
    path: '/things/dead',
    input: {},
    output: z.object({ done: z.boolean() }),
    success: 200,
    builder: 'none',
    audit: 'audit',
  }),
};

/** A value of the things' answer form. */
export const aThing = { id: 'thing-1', name: 'One', labels: [{ text: 'one', lang: 'en' }] };
