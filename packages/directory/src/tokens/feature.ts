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
  operations: [
    readPushTokens,
    readServiceTokens,
    createPushToken,
    rotatePushToken,
    revokePushToken,
    createServiceToken,
    rotateServiceToken,
    dropServiceToken,
  ],
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
