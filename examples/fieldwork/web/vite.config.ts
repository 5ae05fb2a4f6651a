/** How the pages of fieldwork are built: into `web/dist`, as files that need nothing from anywhere else. */
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
