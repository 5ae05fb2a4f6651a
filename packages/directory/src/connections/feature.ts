/** What the directory's unit has of connections. What a provider is asked for comes in as a method: `changeConnection`. */
import { defineFeature } from '../lib/feature.ts';
import { disconnect, planDisconnect, putGrant } from './delegated-operations.ts';
import {
  readActivity,
  readConnection,
  readConnections,
  readCredential,
  readGrants,
  shutOut,
} from './operations.ts';
import { connectionMigrations } from './schema.ts';
import { connectionMethods } from './unit-methods.ts';

export const connectionsFeature = defineFeature({
  operations: [
    readConnections,
    readConnection,
    readCredential,
    readActivity,
    readGrants,
    shutOut,
    disconnect,
    putGrant,
    planDisconnect,
  ],
  migrations: [connectionMigrations],
  methods: connectionMethods,
  queries: [
    'connectRound',
    'connectionSlot',
    'connectionLoaded',
    'connectionForUse',
    'connectionGate',
    'connectionAdmission',
    'connectionsForMaintenance',
  ],
});
