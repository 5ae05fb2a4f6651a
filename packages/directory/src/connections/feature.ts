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
  reads: {
    'connections.list': readConnections,
    'connections.get': readConnection,
    'connections.credential': readCredential,
    'connections.activity': readActivity,
    'connection-grants.list': readGrants,
  },
  changes: { 'connection-grants.delete': shutOut },
  delegated: {
    'connections.disconnect': disconnect,
    'connection-grants.put': putGrant,
  },
  plans: { 'connections.disconnect': planDisconnect },
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
