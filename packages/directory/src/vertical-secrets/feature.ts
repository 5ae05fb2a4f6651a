/** The part of the directory's unit that keeps the secrets of builders. */
import type { UnitContext } from '@freehold/store';
import { type ChangeInput, type ChangeOutcome, makeChange } from '../changes/changes.ts';
import { defineFeature } from '../lib/feature.ts';
import { putSecret, readSecrets, removeSecret, secretsRotate, secretsSet } from './operations.ts';
import {
  replaceSealed,
  type SealedSecret,
  sealedSecrets,
  verticalSecretMigrations,
  verticalsWithSecrets,
} from './store.ts';

export type SecretMethods = ReturnType<typeof secretMethods>;

const secretMethods = (context: UnitContext) => ({
  putSecret: ({ sealed, ...input }: ChangeInput & { readonly sealed: string }): ChangeOutcome => {
    const operation = input.call.operation === secretsRotate.name ? secretsRotate : secretsSet;
    return makeChange(context, putSecret(operation, sealed), input);
  },

  sealedSecrets: (vertical: string): readonly SealedSecret[] => sealedSecrets(context.db, vertical),

  verticalsWithSecrets: (): readonly string[] => verticalsWithSecrets(context.db),

  resealSecret: (secret: SealedSecret & { readonly before: string }): null => {
    replaceSealed(context.db, secret);
    return null;
  },
});

export const verticalSecretsFeature = /* @__PURE__ */ defineFeature({
  operations: [readSecrets, removeSecret],
  migrations: [verticalSecretMigrations],
  methods: secretMethods,
  queries: ['sealedSecrets', 'verticalsWithSecrets'],
});
