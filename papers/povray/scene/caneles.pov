// A plate of canelés on a wooden table. Nothing in it depends on chance or on neighbouring rows: no radiosity, no
// jitter, no photons, no focal blur. So a slice of the picture has the pixels that it has in the whole picture.
#version 3.7;

// Units of the scene in a length that is written here: POV-Ray takes what is nearer than 0.001 units for the surface
// itself, and what it then finds depends on the pixels before.
#declare Scale = 100;

global_settings { assumed_gamma 1.0 max_trace_level 6 }

camera {
  location <0.6, 6.2, -11.5>*Scale
  look_at <0.45, 0.75, 0.1>*Scale
  right x*image_width/image_height
  angle 41
}

light_source {
  <-9, 14, -7>*Scale color rgb <1.0, 0.93, 0.82>*1.05
  area_light <3, 0, 0>*Scale, <0, 0, 3>*Scale, 5, 5
  adaptive 1
  circular orient
}
light_source { <10, 8, -4>*Scale color rgb <0.55, 0.68, 0.9>*0.3 shadowless }

sky_sphere {
  pigment {
    gradient y
    color_map { [0.0 rgb <0.62, 0.50, 0.40>] [0.5 rgb <0.75, 0.80, 0.88>] [1.0 rgb <0.35, 0.45, 0.65>] }
    scale 2 translate -1
  }
}

// One cake: twelve flutes, a foot that is wider than the head, a dent in the head. The profile goes up the side and
// over the rim into the dent: [radius, height, depth of the flutes].
#declare Profile = array[15][3] {
  {0.00, 0.00, 0.00}, {0.55, 0.00, 0.02}, {0.76, 0.00, 0.06}, {0.81, 0.04, 0.08}, {0.80, 0.25, 0.085},
  {0.77, 0.55, 0.085}, {0.74, 0.85, 0.08}, {0.71, 1.10, 0.075}, {0.67, 1.27, 0.06}, {0.60, 1.37, 0.045},
  {0.50, 1.40, 0.03}, {0.40, 1.38, 0.015}, {0.28, 1.30, 0.005}, {0.14, 1.24, 0.00}, {0.00, 1.22, 0.00}
}
#declare Along = spline {
  cubic_spline
  #local N = 0;
  #while (N < 15)
    N/14, <Profile[N][0], Profile[N][1], Profile[N][2]>
    #local N = N + 1;
  #end
}
#declare Rings = 36;
#declare Spokes = 120;
// At a ring: radius, height and depth of the flutes, and how they change along the profile.
#declare Ring = array[Rings + 1];
#declare Slope = array[Rings + 1];
#declare N = 0;
#while (N <= Rings)
  #declare Ring[N] = <0, 0, 0> + Along(N/Rings);
  #declare Slope[N] = Along(min(1, N/Rings + 0.004)) - Along(max(0, N/Rings - 0.004));
  #declare N = N + 1;
#end
// At a spoke: direction, the flute there, and how it changes with the angle.
#declare Spoke = array[Spokes][4];
#declare N = 0;
#while (N < Spokes)
  #local T = 2*pi*N/Spokes;
  #declare Spoke[N][0] = cos(T);
  #declare Spoke[N][1] = sin(T);
  #declare Spoke[N][2] = cos(12*T);
  #declare Spoke[N][3] = -12*sin(12*T);
  #declare N = N + 1;
#end
#macro Point(I, J)
  #local R = max(0, Ring[I].x + Ring[I].z*Spoke[J][2]);
  <R*Spoke[J][0], Ring[I].y, R*Spoke[J][1]>
#end
#macro Normal(I, J)
  #local C = Spoke[J][0];
  #local S = Spoke[J][1];
  #local R = max(0.01, Ring[I].x + Ring[I].z*Spoke[J][2]);
  #local U = Slope[I].x + Slope[I].z*Spoke[J][2];
  #local V = Ring[I].z*Spoke[J][3];
  vnormalize(vcross(<U*C, Slope[I].y, U*S>, <V*C - R*S, 0, V*S + R*C>))
#end

#declare Cake = mesh2 {
  vertex_vectors {
    (Rings + 1)*Spokes
    #local I = 0;
    #while (I <= Rings)
      #local J = 0;
      #while (J < Spokes)
        , Point(I, J)
        #local J = J + 1;
      #end
      #local I = I + 1;
    #end
  }
  normal_vectors {
    (Rings + 1)*Spokes
    #local I = 0;
    #while (I <= Rings)
      #local J = 0;
      #while (J < Spokes)
        , Normal(I, J)
        #local J = J + 1;
      #end
      #local I = I + 1;
    #end
  }
  face_indices {
    2*Rings*Spokes
    #local I = 0;
    #while (I < Rings)
      #local J = 0;
      #while (J < Spokes)
        #local A = I*Spokes + J;
        #local B = I*Spokes + mod(J + 1, Spokes);
        , <A, B, A + Spokes>, <B, B + Spokes, A + Spokes>
        #local J = J + 1;
      #end
      #local I = I + 1;
    #end
  }
}

// Caramelised crust: darkest on the edges of head and foot.
#macro Crust(Phase)
  texture {
    pigment {
      gradient y
      warp { turbulence 0.12 octaves 3 }
      color_map {
        [0.00 rgb <0.10, 0.030, 0.010>]
        [0.15 rgb <0.27, 0.090, 0.025>]
        [0.55 rgb <0.38, 0.145, 0.040>]
        [0.80 rgb <0.22, 0.070, 0.020>]
        [0.95 rgb <0.07, 0.022, 0.009>]
        [1.00 rgb <0.16, 0.050, 0.015>]
      }
      scale 1.5
      translate <Phase, -0.02, Phase*0.7>
    }
    normal { granite 0.12 scale 0.5 translate Phase }
    finish { ambient 0.05 diffuse 0.75 specular 0.55 roughness 0.018 reflection { 0.02, 0.16 fresnel on } conserve_energy }
  }
  interior { ior 1.5 }
#end
#macro Put(Where, Turn, Phase)
  object { Cake Crust(Phase) rotate y*Turn translate Where scale Scale }
#end

#declare Floor = 0.22;
#declare N = 0;
#while (N < 6)
  Put(<2.02*cos(2*pi*N/6 + 0.25), Floor, 2.02*sin(2*pi*N/6 + 0.25)>, 37*N, 3.1*N)
  #declare N = N + 1;
#end
Put(<0, Floor, 0>, 10, 21.7)
// One that has rolled off the plate, and lies on its side.
object {
  Cake Crust(40.3)
  translate -0.7*y
  rotate z*90
  rotate z*-3
  rotate y*-52
  translate <3.75, 0.83, -3.0>
  scale Scale
}

// The plate.
lathe {
  cubic_spline 13,
  <-0.5, 0.10>, <0.0, 0.10>, <1.6, 0.10>, <2.7, 0.14>, <3.15, 0.24>, <3.75, 0.44>, <3.84, 0.50>, <3.74, 0.54>,
  <3.10, 0.36>, <2.65, 0.24>, <1.6, 0.21>, <0.0, 0.21>, <-0.5, 0.21>
  texture {
    pigment {
      cylindrical
      color_map {
        [0.000 rgb <0.06, 0.14, 0.42>] [0.030 rgb <0.06, 0.14, 0.42>] [0.031 rgb <0.92, 0.91, 0.88>]
        [0.120 rgb <0.92, 0.91, 0.88>] [0.121 rgb <0.06, 0.14, 0.42>] [0.132 rgb <0.06, 0.14, 0.42>]
        [0.133 rgb <0.92, 0.91, 0.88>] [1.000 rgb <0.92, 0.91, 0.88>]
      }
      scale 3.86
    }
    finish { ambient 0.05 diffuse 0.72 specular 0.5 roughness 0.008 reflection { 0.03, 0.3 fresnel on } conserve_energy }
  }
  interior { ior 1.5 }
  scale Scale
}
cylinder { <0, 0, 0>, <0, 0.11, 0>, 1.7 pigment { rgb 0.85 } finish { ambient 0.05 diffuse 0.7 } scale Scale }

// The table: boards along x.
#declare Board = texture {
  pigment {
    wood
    warp { turbulence <0.03, 0.09, 0.04> octaves 4 }
    color_map { [0.0 rgb <0.42, 0.23, 0.10>] [0.55 rgb <0.52, 0.31, 0.15>] [0.9 rgb <0.33, 0.17, 0.07>] [1.0 rgb <0.42, 0.23, 0.10>] }
    rotate y*90
    rotate z*4
    scale <2, 0.35, 0.35>
  }
  normal { bumps 0.03 scale <2, 0.1, 0.1> }
  finish { ambient 0.04 diffuse 0.65 specular 0.2 roughness 0.04 reflection { 0.02, 0.14 fresnel on } conserve_energy }
}
#declare N = -12;
#while (N < 16)
  box {
    <-40, -0.5, 0>, <40, 0, 1.84>
    texture { Board translate <N*7.3, N*1.37, N*0.61> }
    interior { ior 1.4 }
    translate z*(N*1.85 - 0.6)
    scale Scale
  }
  #declare N = N + 1;
#end
box { <-40, -0.6, -40>, <40, -0.05, 40> pigment { rgb <0.05, 0.03, 0.02> } finish { ambient 0.02 } scale Scale }
