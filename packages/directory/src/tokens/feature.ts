/** What the directory's unit has of push tokens and service tokens. */
import { defineFeature } from '../lib/feature.ts';
import {
  createPushToken,
  findTokenActor,
  readPushTokens,
  revokePushToken,
  rotatePushToken,
} from './operations.ts';
import { tokenMigrations } from './schema.ts';
import {
  createServiceToken,
  dropServiceToken,
  readServiceTokens,
  rotateServiceToken,
} from './service-operations.ts';
import { orderServiceToken, revokeServiceToken, type ServiceTokenOrder } from './service-tokens.ts';
import { touchTokenRow } from './store.ts';

export const tokensFeature = defineFeature({
  reads: {
    'push-tokens.list': readPushTokens,
    'service-tokens.list': readServiceTokens,
  },
  changes: {
    'push-tokens.create': createPushToken,
    'push-tokens.rotate': rotatePushToken,
    'push-tokens.revoke': revokePushToken,
    'service-tokens.create': createServiceToken,
    'service-tokens.rotate': rotateServiceToken,
    'service-tokens.revoke': dropServiceToken,
  },
  migrations: [tokenMigrations],
  methods: (context) => ({
    tokenActor: (hash: string) => findTokenActor(context.db, { hash, nowMs: context.now() }),

    touchToken: (id: string): null => {
      touchTokenRow(context.db, id, context.now());
      return null;
    },

    orderServiceToken: (order: ServiceTokenOrder) => orderServiceToken(context, order),

    revokeServiceToken: (input: { readonly id: string; readonly requestId: string }) =>
      revokeServiceToken(context, input),
  }),
  queries: ['tokenActor'],
});
