/** The build of fieldwork's pages: into `web/dist`, as files without outside dependencies. */
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // Nothing is inlined as data: the content security policy allows our own files and nothing else.
    assetsInlineLimit: 0,
  },
});
