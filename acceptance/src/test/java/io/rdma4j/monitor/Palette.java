package io.rdma4j.monitor;

import java.awt.image.BufferedImage;
import java.awt.image.DataBuffer;
import java.awt.image.IndexColorModel;
import java.awt.image.WritableRaster;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Brings a picture of a page down to its 256 most frequent colours, a third of the bytes. */
final class Palette {
  private static final int COLOURS = 256;

  private Palette() {}

  static BufferedImage reduce(BufferedImage image) {
    Map<Integer, Integer> counts = new HashMap<>();
    int width = image.getWidth();
    int height = image.getHeight();
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        counts.merge(image.getRGB(x, y) & 0xffffff, 1, Integer::sum);
      }
    }
    List<Integer> kept =
        counts.entrySet().stream()
            .sorted(Map.Entry.<Integer, Integer>comparingByValue().reversed())
            .limit(COLOURS)
            .map(Map.Entry::getKey)
            .toList();
    int[] colours = kept.stream().mapToInt(Integer::intValue).toArray();
    Map<Integer, Integer> nearest = new HashMap<>();
    IndexColorModel model =
        new IndexColorModel(8, colours.length, colours, 0, false, -1, DataBuffer.TYPE_BYTE);
    WritableRaster pixels = model.createCompatibleWritableRaster(width, height);
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        int colour = image.getRGB(x, y) & 0xffffff;
        pixels.setSample(x, y, 0, nearest.computeIfAbsent(colour, c -> nearest(colours, c)));
      }
    }
    return new BufferedImage(model, pixels, false, null);
  }

  private static int nearest(int[] colours, int wanted) {
    int best = 0;
    int least = Integer.MAX_VALUE;
    for (int i = 0; i < colours.length; i++) {
      int distance = 0;
      for (int shift = 0; shift <= 16; shift += 8) {
        int difference = (colours[i] >> shift & 0xff) - (wanted >> shift & 0xff);
        distance += difference * difference;
      }
      if (distance < least) {
        least = distance;
        best = i;
      }
    }
    return best;
  }
}
